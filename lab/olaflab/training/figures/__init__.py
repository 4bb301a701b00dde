"""The paper's figures about learning (docs/training.md), and the SDK's costs next to gRPC's and gloo's."""
