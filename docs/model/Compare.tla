------------------------------- MODULE Compare -------------------------------
(* Writes between operations: judgements of the watches, and the compare of the records with the cluster. *)
EXTENDS Cluster

PodGone(uid) == pod # None => pod.uid # uid
SayFailed == redis' = [redis EXCEPT !.rec.status = "failed"] /\ UNCHANGED ghost
SayEnded ==
  LET op == Draw({rec.op}) IN
  StartDeletion(op, rec.ns, rec.pod) /\ ghost' = Intend(Grant(ghost, op), op)

\* Writes only if the lab runs without an operation, and this very pod is gone (by its event or a GET) or ended well.
Judge ==
  /\ word = "due" /\ Compared
  /\ IF IsRunning /\ PodGone(rec.pod) THEN SayFailed
     ELSE IF IsRunning /\ pod.state = "ended" THEN SayEnded ELSE UNCHANGED <<redis, ghost>>
  /\ word' = "none"
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, left>>

\* Negative control: an object that the watches lack counts as gone.
JudgeByCache ==
  /\ ~AbsenceAsked /\ Compared /\ IsRunning /\ SayFailed
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word, left>>

\* Not the record's namespace, and not newer than record or tombstone: a late write made it. Or its operation could
\* not remove it.
NamespaceIsDebris ==
  /\ ~Active /\ KnownOp > 0 /\ ns # None /\ ~ns.terminating
  /\ ns.op <= KnownOp /\ (rec # None => rec.ns # ns.uid \/ rec.remains)
\* In the record's own namespace: a pod of a repeated request, which came after the first one had gone.
PodIsDebris ==
  /\ ~Active /\ KnownOp > 0 /\ ns # None /\ ns.op <= KnownOp /\ ~NamespaceIsDebris
  /\ pod # None /\ pod.op <= KnownOp /\ (rec # None => rec.pod # pod.uid)
RemoveDebris ==
  /\ \E m \in IF NamespaceIsDebris THEN {Request("delete", "namespace", ns.op, ns.uid, None, None)}
              ELSE IF PodIsDebris THEN {Request("delete", "pod", pod.op, pod.uid, None, None)} ELSE {} :
       m \notin wire /\ wire' = wire \cup {m}
  /\ ghost' = IF PodIsDebris THEN Intend(ghost, pod.op) ELSE ghost
  /\ UNCHANGED <<redis, outer, cluster, run, cmp, word, left>>

-----------------------------------------------------------------------------
OpOf(object) == IF object = None THEN 0 ELSE object.op

\* ops/listing.ts: the op of an object that is not ours, or is ahead of the clock, does not count.
Believed == IF LabelsBounded THEN {} ELSE {outer.label}

\* The mark, then the lists from the API server. One replica compares at a time, unless its lease ends meanwhile.
BeginCompare(r) ==
  /\ cmp[r] = None /\ (Compared => Newer \/ outer.label # 0)
  /\ IF \A q \in Replicas : cmp[q] = None THEN UNCHANGED left ELSE May("pauses") /\ Count("pauses")
  /\ LET mark == Fresh(Marks)
         its == IF ns # None /\ pod # None /\ pod.owner = ns.uid THEN pod ELSE None IN
     /\ redis' = [redis EXCEPT !.mark = mark]
     /\ cmp' = [cmp EXCEPT ![r] = [phase |-> "listed", mark |-> mark, identity |-> outer.identity,
                                   found |-> redis.last, ns |-> ns, pod |-> its, 
                                   highest |-> Max({OpOf(ns), OpOf(pod)} \cup Believed)]]
  /\ UNCHANGED <<outer, cluster, wire, run, word, ghost>>

Marked(c) == c.identity = outer.identity /\ redis.mark = c.mark
Overtaken(r) ==
  /\ cmp[r] # None /\ ~Marked(cmp[r])
  /\ cmp' = [cmp EXCEPT ![r] = None]
  /\ UNCHANGED <<redis, outer, cluster, wire, run, word, left, ghost>>

\* The cluster has a lab that the records lack: a complete lab is rebuilt, an incomplete one is deleted as usual.
Overrule(c) ==
  IF c.pod # None /\ c.pod.state = "started" /\ ~c.ns.terminating
  THEN /\ redis' = [redis EXCEPT !.rec = NewRecord(c.ns.op, "running", "", c.ns.uid, c.pod.uid), !.tombstone = 0]
       /\ ghost' = Promise(ghost, c.ns.op, c.pod.uid)
  ELSE LET op == Draw({RecordOp, c.ns.op, c.highest}) IN
       /\ StartDeletion(op, c.ns.uid, IF c.pod = None THEN None ELSE c.pod.uid)
       /\ ghost' = Intend(Grant(ghost, op), op)

\* The script checks that the record is unchanged, so reading, deciding and writing are one step here.
Settle(r) ==
  /\ cmp[r] # None /\ cmp[r].phase = "listed" /\ Marked(cmp[r])
  /\ LET c == cmp[r]
         listed == c.pod # None /\ c.pod.uid = rec.pod IN
     IF c.ns # None /\ c.ns.op > KnownOp THEN Overrule(c) /\ RingEnded
     ELSE /\ UNCHANGED word
          /\ IF IsRunning /\ ~listed /\ (PodGone(rec.pod) \/ ~AbsenceAsked) THEN SayFailed
             ELSE IF IsRunning /\ listed /\ c.pod.state = "ended" THEN SayEnded
             ELSE UNCHANGED <<redis, ghost>>
  /\ cmp' = [cmp EXCEPT ![r].phase = "settled"]
  /\ UNCHANGED <<outer, cluster, wire, run, left>>

EndCompare(r) ==
  /\ cmp[r] # None /\ cmp[r].phase = "settled" /\ Marked(cmp[r])
  /\ redis' = [redis EXCEPT !.last = Max({@, cmp[r].highest}), !.generation = outer.identity, !.mark = None,
                            !.found = IF Compared THEN @ ELSE cmp[r].found]
  /\ cmp' = [cmp EXCEPT ![r] = None]
  /\ UNCHANGED <<outer, cluster, wire, run, word, left, ghost>>

CompareStep(r) == BeginCompare(r) \/ Overtaken(r) \/ Settle(r) \/ EndCompare(r)
=============================================================================
