-------------------------------- MODULE Idle --------------------------------
(* Labs that are stopped for idleness. A replica looks at a lab, and finds it
   idle. Later its script asks for a deletion. Meanwhile the user may come
   back, the lab may be another one, and Redis may lose what it knew.
   With a time (Ticks) a user also comes through a gateway, which asks only
   after a silence, and tells Redis of other uses later. *)
EXTENDS Compare

\* Touches by users, and looks; the rules.
CONSTANTS Touches, Looks, TouchChecked, PodChecked, FloorByIdentity
\* Uses through the gateway, and steps of time: a gateway that has not told for one is behind. The rules.
CONSTANTS Uses, Ticks, SilenceTouches, UntoldAsked, MarkAtCollection

\* Idle for so long. A look is older than a step at no stop, and a silence is longer than one.
Timeout == 3
QuietGate == [used |-> 0, untold |-> FALSE, sent |-> None]
gate == outer.gate

\* For each replica, the look that found the lab idle.
looks == outer.looks
Remember(r, look) == outer' = [outer EXCEPT !.looks[r] = look]

\* touch-activity: whoever is answered "kept" keeps the lab until it is looked at again.
Touch ==
  /\ IsRunning /\ Compared /\ May("touches") /\ Count("touches")
  /\ redis' = [redis EXCEPT !.touched = @ + 1, !.used = outer.tick]
  /\ ghost' = [ghost EXCEPT !.kept = @ + 1]
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word>>

\* A gateway lets a user through. After a silence it asks first.
Use ==
  /\ IsRunning /\ Compared /\ May("uses") /\ Count("uses")
  /\ IF SilenceTouches /\ outer.tick > gate.used + 1
     THEN /\ redis' = [redis EXCEPT !.touched = @ + 1, !.used = outer.tick]
          /\ outer' = [outer EXCEPT !.gate.used = outer.tick]
          /\ ghost' = [ghost EXCEPT !.kept = @ + 1]
     ELSE /\ outer' = [outer EXCEPT !.gate.used = outer.tick, !.gate.untold = TRUE]
          /\ UNCHANGED <<redis, ghost>>
  /\ UNCHANGED <<cluster, wire, run, cmp, word>>

\* A flush begins: what it saw until now.
Collect ==
  /\ Ticks > 0 /\ gate.sent = None
  /\ outer' = [outer EXCEPT !.gate.untold = FALSE,
                            !.gate.sent = [used |-> IF gate.untold THEN gate.used ELSE 0, upTo |-> outer.tick]]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, left, ghost>>

\* touch-activity carries it out, possibly much later.
FlushLands ==
  /\ gate.sent # None /\ Compared
  /\ LET upTo == IF MarkAtCollection THEN gate.sent.upTo ELSE outer.tick IN
     redis' = [redis EXCEPT !.touched = IF gate.sent.used > 0 THEN @ + 1 ELSE @, !.used = Max({@, gate.sent.used}),
                            !.told = Max({@, upTo})]
  /\ outer' = [outer EXCEPT !.gate.sent = None]
  /\ UNCHANGED <<cluster, wire, run, cmp, word, left, ghost>>

Tick ==
  /\ May("ticks") /\ Count("ticks")
  /\ outer' = [outer EXCEPT !.tick = @ + 1]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* read-activity, then the probe. Only a pod that runs is asked.
LookAt(r) ==
  /\ looks[r] = None /\ May("looks") /\ Count("looks")
  /\ IsRunning /\ Compared /\ pod # None /\ pod.uid = rec.pod
  /\ Remember(r, [op |-> rec.op, pod |-> rec.pod, touched |-> redis.touched, kept |-> ghost.kept,
                  identity |-> outer.identity, tick |-> outer.tick, told |-> redis.told])
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* Silence of traffic counts where the gateway has told lately. The look is fresh.
IsSilent(look) ==
  /\ outer.tick >= redis.used + Timeout /\ outer.tick <= look.tick + 1
  /\ UntoldAsked => look.told = look.tick

\* cull-lab. After a loss the floor is raised to now, and nobody counts as idle.
MayCull(look) ==
  /\ IsRunning /\ Compared
  /\ PodChecked => rec.op = look.op /\ rec.pod = look.pod
  /\ TouchChecked => redis.touched = look.touched
  /\ FloorByIdentity => look.identity = outer.identity
  /\ Ticks > 0 => IsSilent(look)
Cull(r) ==
  /\ looks[r] # None
  /\ LET look == looks[r] IN
     IF MayCull(look)
     THEN LET op == Draw({rec.op}) IN
          /\ StartDeletion(op, rec.ns, rec.pod)
          /\ ghost' = Unpromise(Intend(Grant([ghost EXCEPT !.cut = @ \/ look.kept < ghost.kept \/ look.pod # rec.pod
                                                                    \/ outer.tick < gate.used + Timeout],
                                             op), op))
     ELSE UNCHANGED <<redis, ghost>>
  /\ Remember(r, None)
  /\ UNCHANGED <<cluster, wire, run, cmp, word, left>>

\* K1, K2, K3, K4: a lab that its user came back to, or used lately, or that is another one than was looked at, is never
\* stopped for idleness.
NobodyCutOff == ~ghost.cut
=============================================================================
