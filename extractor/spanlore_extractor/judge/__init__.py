"""The model judge: a second opinion on what the rules would let an agent see. Off without a key."""
