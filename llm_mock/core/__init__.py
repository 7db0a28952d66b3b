"""The mock itself: what is asked, what is answered, what is remembered. It knows no library."""
