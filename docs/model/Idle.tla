-------------------------------- MODULE Idle --------------------------------
(* Labs that are stopped for idleness. A replica looks at a lab, and finds it
   idle. Later its script asks for a deletion. Meanwhile the user may come
   back, the lab may be another one, and Redis may lose what it knew. *)
EXTENDS Compare

\* Touches by users, and looks; the rules.
CONSTANTS Touches, Looks, TouchChecked, PodChecked, FloorByIdentity

\* For each replica, the look that found the lab idle.
looks == outer.looks
Remember(r, look) == outer' = [outer EXCEPT !.looks[r] = look]

\* touch-activity: whoever is answered "kept" keeps the lab until it is looked at again.
Touch ==
  /\ IsRunning /\ Compared /\ May("touches") /\ Count("touches")
  /\ redis' = [redis EXCEPT !.touched = @ + 1]
  /\ ghost' = [ghost EXCEPT !.kept = @ + 1]
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word>>

\* read-activity, then the probe. Only a pod that runs is asked.
LookAt(r) ==
  /\ looks[r] = None /\ May("looks") /\ Count("looks")
  /\ IsRunning /\ Compared /\ pod # None /\ pod.uid = rec.pod
  /\ Remember(r, [op |-> rec.op, pod |-> rec.pod, touched |-> redis.touched, kept |-> ghost.kept,
                  identity |-> outer.identity])
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* cull-lab. After a loss the floor is raised to now, and nobody counts as idle.
MayCull(look) ==
  /\ IsRunning /\ Compared
  /\ PodChecked => rec.op = look.op /\ rec.pod = look.pod
  /\ TouchChecked => redis.touched = look.touched
  /\ FloorByIdentity => look.identity = outer.identity
Cull(r) ==
  /\ looks[r] # None
  /\ LET look == looks[r] IN
     IF MayCull(look)
     THEN LET op == Draw({rec.op}) IN
          /\ StartDeletion(op, rec.ns, rec.pod)
          /\ ghost' = Unpromise(Intend(Grant([ghost EXCEPT !.cut = @ \/ look.kept < ghost.kept \/ look.pod # rec.pod],
                                             op), op))
     ELSE UNCHANGED <<redis, ghost>>
  /\ Remember(r, None)
  /\ UNCHANGED <<cluster, wire, run, cmp, word, left>>

\* K1, K3, K4: a lab that its user came back to, or that is another one than was looked at, is never stopped for idleness.
NobodyCutOff == ~ghost.cut
=============================================================================
