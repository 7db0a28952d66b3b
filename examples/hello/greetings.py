import llm


def greet(name: str) -> str:
    """Have a model greet somebody."""
    return llm.get_model("gpt-4o-mini").prompt(f"Greet {name}").text()


async def say_goodbye(name: str) -> str:
    """Have a model say goodbye to somebody."""
    return await llm.get_async_model("gpt-4o-mini").prompt(f"Say goodbye to {name}").text()
