"""What other products export of conversations, as a file that `everthread import` reads."""
