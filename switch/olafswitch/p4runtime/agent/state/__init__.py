"""The forwarding state that writes change and reads show, and how requests name its parts."""
