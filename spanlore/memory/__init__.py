"""What was learned: memories, candidates, evidence, and the operations that change them."""
