------------------------------- MODULE Skylab -------------------------------
(* One user's lab with all faults, and the properties. *)
EXTENDS Idle

(* Faults; a constant bounds the number of each *)

\* The lease of a dead owner is not extended: it ends now, or later.
Crash(r) ==
  /\ run[r] = None => cmp[r] # None
  /\ May("crashes") /\ Count("crashes")
  /\ run' = [run EXCEPT ![r] = None]
  /\ cmp' = [cmp EXCEPT ![r] = None]
  /\ wire' = Orphaned(r)
  /\ redis' = IF run[r] # None /\ run[r].token = redis.lease THEN [redis EXCEPT !.lease = None] ELSE redis
  \* The compare at a replica's start judges changes that were not watched.
  /\ word' = IF word = "none" THEN word ELSE "due"
  /\ UNCHANGED <<outer, cluster, ghost>>

\* The holder is stopped past the end of its lease, and then continues unaware; or Redis' clock steps forward.
LeaseRunsOut ==
  /\ redis.lease # None
  /\ \/ May("pauses") /\ Count("pauses") /\ UNCHANGED outer
     \/ May("clockSteps") /\ Count("clockSteps") /\ outer' = [outer EXCEPT !.time = ghost.granted + 1]
  /\ redis' = [redis EXCEPT !.lease = None]
  /\ UNCHANGED <<cluster, wire, run, cmp, word, ghost>>

\* Redis has kept `last`. The protocol does not survive the loss of both, and does not promise to.
ClockStepsBack ==
  /\ outer.time # 0 /\ redis.last >= ghost.granted
  /\ May("clockSteps") /\ Count("clockSteps")
  /\ outer' = [outer EXCEPT !.time = 0]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* An account that is allowed to make a pod somewhere writes our labels on it. The interval starts a compare.
StrangerWrites ==
  /\ outer.label = 0 /\ May("labels") /\ Count("labels")
  /\ outer' = [outer EXCEPT !.label = Largest]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* The request was applied, or will be, or never will be.
ReplyLost(r) ==
  /\ Holds(r, "sent")
  /\ May("lostReplies") /\ Count("lostReplies")
  /\ wire' = Orphaned(r) /\ Set(r, [run[r] EXCEPT !.phase = "ready"])
  /\ UNCHANGED <<redis, outer, cluster, cmp, word, ghost>>

TakeBackup ==
  /\ May("losses") /\ May("backups") /\ Count("backups")
  /\ outer' = [outer EXCEPT !.backup = redis]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* Redis is empty, or has an earlier state; time has advanced. The lease of a dead owner in that state ends soon.
RedisLoses ==
  /\ May("losses")
  /\ \E data \in {EmptyRedis, outer.backup} :
       redis' = IF \E r \in Replicas : run[r] # None /\ run[r].token = data.lease THEN data ELSE [data EXCEPT !.lease = None]
  /\ LET last == left.losses = 1 IN
     /\ left' = [left EXCEPT !.losses = @ - 1, !.backups = IF last THEN 0 ELSE @]
     /\ outer' = [identity |-> outer.identity + 1, time |-> Max({outer.time, ghost.granted}),
                  backup |-> IF last THEN EmptyRedis ELSE outer.backup, label |-> outer.label,
                  looks |-> outer.looks, tick |-> outer.tick, gate |-> outer.gate]
  /\ UNCHANGED <<cluster, wire, run, cmp, word, ghost>>

Fault ==
  \/ \E r \in Replicas : Crash(r) \/ ReplyLost(r) \/ DeadlinePasses(r) \/ Unanswered(r)
  \/ LeaseRunsOut \/ ClockStepsBack \/ StrangerWrites \/ TakeBackup \/ RedisLoses \/ PodEnding

-----------------------------------------------------------------------------
Init ==
  /\ redis = [EmptyRedis EXCEPT !.generation = 1]
  /\ outer = [identity |-> 1, time |-> 0, backup |-> EmptyRedis, label |-> 0,
              looks |-> [r \in Replicas |-> None], tick |-> Timeout, gate |-> QuietGate]
  /\ ns = None /\ env = None /\ pod = None /\ wire = {}
  /\ run = [r \in Replicas |-> None] /\ cmp = [r \in Replicas |-> None]
  /\ word = "none"
  /\ left = [accepts |-> Accepts, crashes |-> Crashes, pauses |-> Pauses, lostReplies |-> LostReplies,
             losses |-> Losses, backups |-> Losses, clockSteps |-> ClockSteps, podEnds |-> PodEnds,
             deadlines |-> Deadlines, refusals |-> Refusals, labels |-> Labels, touches |-> Touches, looks |-> Looks,
             uses |-> Uses, ticks |-> Ticks]
  /\ ghost = [granted |-> 0, twice |-> FALSE, intent |-> 0, intruded |-> FALSE,
              promised |-> None, ended |-> {}, consulted |-> FALSE, kept |-> 0, cut |-> FALSE]

Next ==
  \/ Consult \/ AcceptCreate \/ AcceptDelete
  \/ \E r \in Replicas : OwnerStep(r) \/ CompareStep(r)
  \/ ClusterStep \/ Judge \/ JudgeByCache \/ RemoveDebris
  \/ Touch \/ \E r \in Replicas : LookAt(r) \/ Cull(r)
  \/ Use \/ Collect \/ FlushLands \/ Tick
  \/ Fault
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Replicas)

\* Every enabled step is taken in the end, except faults and clients. This needs no deadline.
Fairness ==
  /\ \A r \in Replicas : WF_vars(OwnerStep(r)) /\ WF_vars(Stop(r)) /\ WF_vars(CompareStep(r))
  /\ \A r \in Replicas \cup {None} : WF_vars(\E m \in wire : m.sender = r /\ (Lands(m) \/ Vanishes(m) \/ IsRefused(m)))
  /\ WF_vars(Copy) /\ WF_vars(NamespaceGoes) /\ WF_vars(CollectGarbage) /\ WF_vars(PodStarts)
  /\ WF_vars(Judge) /\ WF_vars(RemoveDebris)
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* Properties *)
AtRest ==
  /\ wire = {} /\ word # "due" /\ Compared /\ ~Active /\ ~Newer /\ ~NamespaceIsDebris /\ ~PodIsDebris
  /\ \A r \in Replicas : run[r] = None /\ cmp[r] = None 
  /\ ns # None => ~ns.terminating
  /\ ~IsGarbage(env) /\ ~IsGarbage(pod)

\* P1: an owner's script without the current token is never accepted; no op is given out twice.
OneOwner == ~ghost.intruded
OpsAreNew == ~ghost.twice
\* P2: at rest a namespace has no object of another operation, and its pod never read one.
NothingStale == AtRest /\ ns # None =>
  \A object \in Somethings({env, pod}) : object.op = ns.op /\ object.owner = ns.uid
NothingStaleSeen == pod # None /\ ns # None /\ pod.owner = ns.uid /\ pod.saw # None =>
  pod.saw.op = pod.op /\ pod.saw.owner = pod.owner
\* P6: a deleted lab is gone, and a lab with the status running runs.
NothingLeft == AtRest => IF rec = None THEN ns = None ELSE pod # None => pod.uid = rec.pod
Settled == AtRest /\ IsRunning =>
  ns # None /\ ns.uid = rec.ns /\ pod # None /\ pod.uid = rec.pod /\ pod.state = "started"
\* P6, P7: a lab that a client knows of is never reported as missing and never destroyed, until its end was accepted or
\* it ended. An earlier state of Redis may say "pending" once more.
Kept == ghost.promised # None /\ Compared =>
  /\ rec # None /\ rec.op = ghost.promised.op
  /\ rec.status = "running" \/ (left.losses < Losses /\ rec.status = "pending")
Stands == ghost.promised # None =>
  ns # None /\ ~ns.terminating /\ pod # None /\ pod.uid = ghost.promised.pod
\* P3: every accepted operation ends. Their number is finite, so in the end none is active.
Ends == <>[]~Active
=============================================================================
