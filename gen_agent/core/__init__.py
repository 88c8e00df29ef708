"""The core: values in, values out.

`machine` decides everything an agent does; the other modules are its parts and the pure pieces that workers
and supervisors share. Nothing here knows an actor, a process, a socket, a clock or chance: times, refs and
sizes come in with the events, and what is to be done leaves as effects.
"""
