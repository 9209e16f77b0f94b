------------------------------- MODULE Skylab -------------------------------
(* One user's lab, whatever dies: faults, and what must never be false. *)
EXTENDS Compare

(* Faults, each as often as its constant says *)

\* Nobody extends the lease of a dead owner: it is over at some later moment, or now.
Crash(r) ==
  /\ run[r] = None => cmp[r] # None
  /\ May("crashes") /\ Count("crashes")
  /\ run' = [run EXCEPT ![r] = None]
  /\ cmp' = [cmp EXCEPT ![r] = None]
  /\ wire' = Orphaned(r)
  /\ redis' = IF run[r] # None /\ run[r].token = redis.lease THEN [redis EXCEPT !.lease = None] ELSE redis
  \* A compare at each start looks at what nobody watched.
  /\ word' = IF word = "none" THEN word ELSE "due"
  /\ UNCHANGED <<outer, cluster, ghost>>

\* Its holder is stopped past its end, and goes on as if nothing had been; or Redis' clock steps forward.
LeaseRunsOut ==
  /\ redis.lease # None
  /\ \/ May("pauses") /\ Count("pauses") /\ UNCHANGED outer
     \/ May("clockSteps") /\ Count("clockSteps") /\ outer' = [outer EXCEPT !.time = ghost.granted + 1]
  /\ redis' = [redis EXCEPT !.lease = None]
  /\ UNCHANGED <<cluster, wire, run, cmp, word, ghost>>

\* Redis has kept `last`; to lose that at the same time is not survived, and not promised.
ClockStepsBack ==
  /\ outer.time # 0 /\ redis.last >= ghost.granted
  /\ May("clockSteps") /\ Count("clockSteps")
  /\ outer' = [outer EXCEPT !.time = 0]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* Whoever may make a pod somewhere in the cluster writes our labels on it. The interval brings a compare.
StrangerWrites ==
  /\ outer.label = 0 /\ May("labels") /\ Count("labels")
  /\ outer' = [outer EXCEPT !.label = Largest]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* The request was applied, or will be, or never.
ReplyLost(r) ==
  /\ Holds(r, "sent")
  /\ May("lostReplies") /\ Count("lostReplies")
  /\ wire' = Orphaned(r) /\ Set(r, [run[r] EXCEPT !.phase = "ready"])
  /\ UNCHANGED <<redis, outer, cluster, cmp, word, ghost>>

TakeBackup ==
  /\ May("losses") /\ May("backups") /\ Count("backups")
  /\ outer' = [outer EXCEPT !.backup = redis]
  /\ UNCHANGED <<redis, cluster, wire, run, cmp, word, ghost>>

\* Emptied, or gone back; time has gone on. What a dead owner's lease says there is over soon.
RedisLoses ==
  /\ May("losses")
  /\ \E data \in {EmptyRedis, outer.backup} :
       redis' = IF \E r \in Replicas : run[r] # None /\ run[r].token = data.lease THEN data ELSE [data EXCEPT !.lease = None]
  /\ LET last == left.losses = 1 IN
     /\ left' = [left EXCEPT !.losses = @ - 1, !.backups = IF last THEN 0 ELSE @]
     /\ outer' = [identity |-> outer.identity + 1, time |-> Max({outer.time, ghost.granted}),
                  backup |-> IF last THEN EmptyRedis ELSE outer.backup, label |-> outer.label]
  /\ UNCHANGED <<cluster, wire, run, cmp, word, ghost>>

Fault ==
  \/ \E r \in Replicas : Crash(r) \/ ReplyLost(r) \/ DeadlinePasses(r) \/ Unanswered(r)
  \/ LeaseRunsOut \/ ClockStepsBack \/ StrangerWrites \/ TakeBackup \/ RedisLoses \/ PodEnding

-----------------------------------------------------------------------------
Init ==
  /\ redis = [EmptyRedis EXCEPT !.generation = 1]
  /\ outer = [identity |-> 1, time |-> 0, backup |-> EmptyRedis, label |-> 0]
  /\ ns = None /\ env = None /\ pod = None /\ wire = {}
  /\ run = [r \in Replicas |-> None] /\ cmp = [r \in Replicas |-> None]
  /\ word = "none"
  /\ left = [accepts |-> Accepts, crashes |-> Crashes, pauses |-> Pauses, lostReplies |-> LostReplies,
             losses |-> Losses, backups |-> Losses, clockSteps |-> ClockSteps, podEnds |-> PodEnds,
             deadlines |-> Deadlines, refusals |-> Refusals, labels |-> Labels]
  /\ ghost = [granted |-> 0, twice |-> FALSE, intent |-> 0, intruded |-> FALSE,
              promised |-> None, ended |-> {}, consulted |-> FALSE]

Next ==
  \/ Consult \/ AcceptCreate \/ AcceptDelete
  \/ \E r \in Replicas : OwnerStep(r) \/ CompareStep(r)
  \/ ClusterStep \/ Judge \/ JudgeByCache \/ RemoveDebris
  \/ Fault
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Replicas)

\* Whatever may go on does so at last; faults and clients may stay away. No deadline is needed for that.
Fairness ==
  /\ \A r \in Replicas : WF_vars(OwnerStep(r)) /\ WF_vars(Stop(r)) /\ WF_vars(CompareStep(r))
  /\ \A r \in Replicas \cup {None} : WF_vars(\E m \in wire : m.sender = r /\ (Lands(m) \/ Vanishes(m) \/ IsRefused(m)))
  /\ WF_vars(Copy) /\ WF_vars(NamespaceGoes) /\ WF_vars(CollectGarbage) /\ WF_vars(PodStarts)
  /\ WF_vars(Judge) /\ WF_vars(RemoveDebris)
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What must never be false *)
AtRest ==
  /\ wire = {} /\ word # "due" /\ Compared /\ ~Active /\ ~Newer /\ ~NamespaceIsDebris /\ ~PodIsDebris
  /\ \A r \in Replicas : run[r] = None /\ cmp[r] = None 
  /\ ns # None => ~ns.terminating
  /\ ~IsGarbage(env) /\ ~IsGarbage(pod)

\* P1: no script of an owner is accepted from one whose token is not the current one; no op is given out twice.
OneOwner == ~ghost.intruded
OpsAreNew == ~ghost.twice
\* P2: at rest nothing of another operation stands in a namespace, and its pod never saw any.
NothingStale == AtRest /\ ns # None =>
  \A object \in Somethings({env, pod}) : object.op = ns.op /\ object.owner = ns.uid
NothingStaleSeen == pod # None /\ ns # None /\ pod.owner = ns.uid /\ pod.saw # None =>
  pod.saw.op = pod.op /\ pod.saw.owner = pod.owner
\* P6: what was deleted is gone, what is said to run does.
NothingLeft == AtRest => IF rec = None THEN ns = None ELSE pod # None => pod.uid = rec.pod
Settled == AtRest /\ IsRunning =>
  ns # None /\ ns.uid = rec.ns /\ pod # None /\ pod.uid = rec.pod /\ pod.state = "started"
\* P6, P7: a lab of which a client was told is never denied and never destroyed, until its end was accepted or it ended.
\* A Redis gone back may say "pending" once more.
Kept == ghost.promised # None /\ Compared =>
  /\ rec # None /\ rec.op = ghost.promised.op
  /\ rec.status = "running" \/ (left.losses < Losses /\ rec.status = "pending")
Stands == ghost.promised # None =>
  ns # None /\ ~ns.terminating /\ pod # None /\ pod.uid = ghost.promised.pod
\* P3: every accepted operation ends. There are finitely many, so in the end none is left.
Ends == <>[]~Active
=============================================================================
