------------------------------- MODULE Compare -------------------------------
(* What is written between operations: the watch's word, and the compare of the records with the cluster. *)
EXTENDS Cluster

PodGone(uid) == pod # None => pod.uid # uid
SayFailed == redis' = [redis EXCEPT !.rec.status = "failed"] /\ UNCHANGED ghost
SayEnded ==
  LET op == Draw({rec.op}) IN
  StartDeletion(op, rec.ns, rec.pod) /\ ghost' = Intend(Grant(ghost, op), op)

\* Running, no operation, this very pod: gone, as its event or a GET says, or ended well. Else nothing may be written.
Judge ==
  /\ word = "due" /\ Compared
  /\ IF IsRunning /\ PodGone(rec.pod) THEN SayFailed
     ELSE IF IsRunning /\ pod.state = "ended" THEN SayEnded ELSE UNCHANGED <<redis, ghost>>
  /\ word' = "none"
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, left>>

\* Negative control: what the watches lack is taken for gone.
JudgeByCache ==
  /\ ~AbsenceAsked /\ Compared /\ IsRunning /\ SayFailed
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word, left>>

\* Neither the record's nor above it or the tombstone: a late write made it. Or its operation could not remove it.
NamespaceIsDebris ==
  /\ ~Active /\ KnownOp > 0 /\ ns # None /\ ~ns.terminating
  /\ ns.op <= KnownOp /\ (rec # None => rec.ns # ns.uid \/ rec.remains)
\* In the record's own namespace: a pod that was asked for twice, and came when the first was gone.
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

\* ops/listing.ts: of an object that is not ours, or is ahead of the clock, no op is taken.
Believed == IF LabelsBounded THEN {} ELSE {outer.label}

\* The mark, then the lists from the API server. One compares at a time, until its lease runs out under it.
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

\* The cluster has what the records lack: a whole lab is rebuilt, anything less is an ordinary deletion.
Overrule(c) ==
  IF c.pod # None /\ c.pod.state = "started" /\ ~c.ns.terminating
  THEN /\ redis' = [redis EXCEPT !.rec = NewRecord(c.ns.op, "running", "", c.ns.uid, c.pod.uid), !.tombstone = 0]
       /\ ghost' = Promise(ghost, c.ns.op, c.pod.uid)
  ELSE LET op == Draw({RecordOp, c.ns.op, c.highest}) IN
       /\ StartDeletion(op, c.ns.uid, IF c.pod = None THEN None ELSE c.pod.uid)
       /\ ghost' = Intend(Grant(ghost, op), op)

\* The script compares the record with what was decided by, so reading, deciding and writing are one here.
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
