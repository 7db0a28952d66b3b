"""The planner's data, and the structured answers that it requests."""

from pydantic import BaseModel, Field


class Step(BaseModel):
    """One step of a workflow."""

    component: str = Field(description="name of the component that does it")
    purpose: str = Field(description="what it does here, in one sentence")


class Workflow(BaseModel):
    """A workflow: components that run one after the other."""

    name: str = Field(description="short, lower case, words joined by hyphens")
    description: str = Field(description="what it is good for, in one sentence")
    steps: list[Step] = Field(min_length=1)


class WorkflowMatch(BaseModel):
    """The answer to: does a known workflow fit?"""

    workflow_name: str | None = Field(
        description="name of the workflow that does what was requested, null if none"
    )


class ComponentChoice(BaseModel):
    """The answer to: which components are needed?"""

    components: list[str] = Field(min_length=1, description="names from the catalogue")
