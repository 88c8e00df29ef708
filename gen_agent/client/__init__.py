"""How scripts and actors talk to agents: `AgentClient`, and the book of calls that both kinds share.

The law: nothing in here knows Thespian. Nothing is imported with the package: a supervisor opens what clients
tell it without loading a client.
"""
