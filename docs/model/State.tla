-------------------------------- MODULE State --------------------------------
(* The state of Redis, the cluster and the replicas for one user's lab. *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Replicas,
  None,
  \* How often each of these may happen.
  Accepts, Crashes, Pauses, LostReplies, Losses, ClockSteps, PodEnds, Deadlines, Refusals, Labels,
  \* The largest exact integer: all draws beyond it return the same number.
  Largest,
  \* The rules of the protocol; a negative control switches one of them off.
  TokenChecked, OpByTime, NamespacePerCreation, AbsenceAsked,
  GenerationInScript, IntentFirst, LowerOpIsDebris, JudgedAgain, LabelsBounded, AnsweredWhereOld

VARIABLES
  redis,         \* the data of this user and of the installation in Redis
  outer,         \* Redis' process, its clock, an older copy of its data; the op that a stranger wrote; looks at idle labs;
                 \* the gateway and its time
  ns, env, pod,  \* the namespace, and in it an object and the pod
  wire,          \* requests to the API server that may still be applied
  run,           \* for each replica, the operation that it owns
  cmp,           \* for each replica, its compare in progress
  word,          \* whether a judgement of the watches is due: "none" or "due"
  left,          \* the remaining number of each fault
  ghost          \* state that only the invariants use

cluster == <<ns, env, pod>>
vars == <<redis, outer, ns, env, pod, wire, run, cmp, word, left, ghost>>

Max(S) == CHOOSE x \in S : \A y \in S : y <= x
\* The smallest unused number: tokens and UIDs are only compared for equality.
Fresh(used) == CHOOSE n \in 1..(Cardinality(used) + 1) : n \notin used /\ \A m \in 1..(n - 1) : m \in used
Somethings(S) == S \ {None}
May(fault) == left[fault] > 0
Count(fault) == left' = [left EXCEPT ![fault] = @ - 1]

-----------------------------------------------------------------------------
(* Records *)
rec == redis.rec
IsActive(record) == record # None /\ record.status \in {"pending", "terminating"}
Active == IsActive(rec)
IsRunning == rec # None /\ rec.status = "running"
RecordOp == IF rec = None THEN 0 ELSE rec.op
KnownOp == IF rec = None THEN redis.tombstone ELSE rec.op
\* include/generation.lua
Compared == redis.generation = outer.identity
\* The cluster has a newer op than the record: a replica that notices requests a compare.
Newer == ns # None /\ ns.op > KnownOp

\* `found`: the last op when the data were compared; records up to it may be old. `touched`: signs of activity so far.
\* `used`: the time of the latest one. `told`: the time up to which the gateway has told what it saw.
EmptyRedis == [rec |-> None, tombstone |-> 0, last |-> 0, lease |-> None, generation |-> 0, found |-> 0, mark |-> None,
               touched |-> 0, used |-> 0, told |-> 0]
NewRecord(op, status, step, nsUid, podUid) ==
  [op |-> op, status |-> status, token |-> None, step |-> step, ns |-> nsUid, pod |-> podUid, remains |-> FALSE]

\* include/draw.lua
Draw(others) ==
  LET highest == IF OpByTime THEN Max({redis.last, outer.time} \cup others) ELSE redis.last IN
  IF highest >= Largest THEN Largest + 1 ELSE highest + 1
\* include/deletion.lua
StartDeletion(op, nsUid, podUid) ==
  redis' = [redis EXCEPT !.rec = NewRecord(op, "terminating", "namespace", nsUid, podUid), !.last = op]

-----------------------------------------------------------------------------
(* The memory of the invariants: numbers given out, intents accepted, labs that a client knows of. *)
Grant(g, op) == [g EXCEPT !.granted = Max({@, op}), !.twice = @ \/ op <= g.granted]
Intend(g, op) == [g EXCEPT !.intent = Max({@, op})]
\* There is no promise for a lab that ended by itself, or whose accepted end was lost with Redis' data.
Promise(g, op, podUid) ==
  [g EXCEPT !.promised = IF op > g.intent /\ podUid \notin g.ended THEN [op |-> op, pod |-> podUid] ELSE None]
Unpromise(g) == [g EXCEPT !.promised = None]

-----------------------------------------------------------------------------
(* Numbers in use *)
Tokens ==
  {redis.lease, outer.backup.lease} \cup {run[r].token : r \in {q \in Replicas : run[q] # None}}
  \cup {o.token : o \in Somethings({rec, outer.backup.rec})}
Marks == {redis.mark, outer.backup.mark} \cup {c.mark : c \in Somethings({cmp[r] : r \in Replicas})}
Owned == {run[r] : r \in {q \in Replicas : run[q] # None /\ run[q].phase # "taken"}}
NamespaceUids ==
  {o.uid : o \in Somethings({ns})} \cup {o.owner : o \in Somethings({env, pod})}
  \cup {m.owner : m \in wire} \cup {m.uid : m \in {x \in wire : x.kind = "namespace"}}
  \cup {o.ns : o \in Owned \cup Somethings({rec, outer.backup.rec})}
  \cup {o.uid : o \in Somethings({c.ns : c \in Somethings({cmp[r] : r \in Replicas})})}
ObjectUids ==
  {o.uid : o \in Somethings({env, pod})} \cup {m.uid : m \in {x \in wire : x.kind # "namespace"}}
  \cup {o.pod : o \in Owned \cup Somethings({rec, outer.backup.rec, ghost.promised})}
  \cup {o.uid : o \in Somethings({c.pod : c \in Somethings({cmp[r] : r \in Replicas})})} \cup ghost.ended
=============================================================================
