------------------------------ MODULE Dispatch ------------------------------
(* The compare and the sweep, all faults, and the properties. *)
EXTENDS Keeper

-----------------------------------------------------------------------------
(* The compare of records and cloud after a loss, and the sweep *)

\* The sweep, or the compare, takes in a machine that no record has: under its own number, or a new one if it is a twin.
Adopt(v) ==
  /\ Up(v) /\ vm[v].listed /\ ~Recorded(v) /\ (Swept \/ ~compared)
  /\ LET s == vm[v].tag IN
     \/ /\ inst[s] = None
        /\ inst' = [inst EXCEPT ![s] = Instance("serve", v, compared)] /\ UNCHANGED used
     \/ /\ inst[s] # None /\ inst[s].vm = 0 /\ ~compared
        /\ inst' = [inst EXCEPT ![s].vm = v, ![s].step = IF @ = "create" THEN "serve" ELSE @] /\ UNCHANGED used
     \/ /\ inst[s] # None /\ inst[s].vm > 0 /\ used < Instances
        /\ inst' = [inst EXCEPT ![used + 1] = Instance("serve", v, compared)] /\ used' = used + 1
  /\ UNCHANGED <<con, compared, cloud, backup, left, ghost>>

\* The compare ends when each listed machine has a record.
EndCompare ==
  /\ ~compared /\ \A v \in Ids : Up(v) /\ vm[v].listed => Recorded(v)
  /\ compared' = TRUE
  /\ UNCHANGED <<con, inst, cloud, rest>>

System == World \/ Scheduler \/ Keepers \/ EndCompare \/ \E v \in Ids : Adopt(v)

-----------------------------------------------------------------------------
(* Faults; a constant bounds the number of each *)

\* A replica dies. What it sent may still be carried out.
Crash(r) ==
  /\ May("crashes") /\ Count("crashes")
  /\ \E s \in Slots : Owns(r, s)
  /\ inst' = [s \in Slots |-> IF Owns(r, s) THEN [inst[s] EXCEPT !.keeper = None] ELSE inst[s]]
  /\ UNCHANGED <<con, compared, cloud, backup, used, ghost>>

\* A machine goes off, or the supervisor of a container dies.
PowerOff(v) ==
  /\ Up(v) /\ May("breaks") /\ Count("breaks")
  /\ Off(v)
  /\ UNCHANGED <<redis, calls, backup, used, ghost>>
SupervisorDies(v, c) ==
  /\ Up(v) /\ vm[v].st[c] = "on" /\ May("breaks") /\ Count("breaks")
  /\ vm' = [vm EXCEPT ![v].st[c] = "lost"]
  /\ UNCHANGED <<redis, calls, wire, backup, used, ghost>>

TakeBackup ==
  /\ May("losses") /\ backup = None
  /\ backup' = [con |-> con, inst |-> inst]
  /\ UNCHANGED <<redis, cloud, used, left, ghost>>

\* Redis is empty, or has an earlier state. All instances become doubtful, and all claims end: also one that this state has.
Doubted(old, now) ==
  IF old = None THEN None
  ELSE IF ~ClaimsEnd /\ now # None /\ now.epoch = old.epoch THEN [old EXCEPT !.seen = FALSE]
  ELSE [old EXCEPT !.seen = @ /\ ~AllDoubted, !.epoch = IF ByTime THEN 0 ELSE @, !.keeper = None]
RedisLoses ==
  /\ May("losses") /\ Count("losses")
  /\ \/ /\ backup # None /\ con' = backup.con
        /\ inst' = [s \in Slots |-> Doubted(backup.inst[s], inst[s])]
     \/ con' = [c \in Containers |-> None] /\ inst' = [s \in Slots |-> None]
  /\ compared' = FALSE /\ backup' = None
  /\ UNCHANGED <<cloud, used, ghost>>

Fault ==
  \/ \E r \in Replicas : Crash(r) \/ \E s \in Slots : TakeOver(r, s)
  \/ \E v \in Ids : PowerOff(v) \/ \E c \in Containers : SupervisorDies(v, c)
  \/ \E s \in Slots : EndUnreachable(s)
  \/ \E c \in Containers : TakeBack(c) \/ Requeue(c) \/ Cancel(c)
  \/ TakeBackup \/ RedisLoses

-----------------------------------------------------------------------------
Init ==
  /\ con = [c \in Containers |-> Queued] /\ compared = TRUE /\ backup = None
  /\ \E r \in Replicas :
       inst = [s \in Slots |-> IF s <= Warm THEN [Instance("serve", s, TRUE) EXCEPT !.keeper = r, !.epoch = 1] ELSE None]
  /\ vm = [v \in Ids |-> IF v <= Warm THEN [NewVm(v) EXCEPT !.listed = TRUE, !.epoch = 1] ELSE None]
  /\ calls = {} /\ wire = {}
  /\ used = Warm
  /\ left = [crashes |-> Crashes, pauses |-> Pauses, losses |-> Losses, timeouts |-> Timeouts, breaks |-> Breaks,
             moves |-> Moves, cancels |-> Cancels, twins |-> Twins]
  /\ ghost = [again |-> FALSE, bare |-> FALSE, cut |-> FALSE]

Next == System \/ Fault
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Replicas) \cup Permutations(Containers)

-----------------------------------------------------------------------------
(* Properties *)
Lost == left.losses < Losses
\* Nothing can happen any more, but faults.
AtRest == compared /\ calls = {} /\ wire = {} /\ ~ENABLED System

\* V1: a container never runs twice at a time.
OneRun == \A c \in Containers : Cardinality({v \in Ids : c \in Running(v)}) <= 1
\* A machine never runs more than it has room for, whatever comes late or is brought back.
InRoom == \A v \in Ids : Cardinality(Running(v)) <= Room
\* V8: we end no machine that runs a container, if nothing was lost and it answers.
Uncut == ~ghost.cut
\* V2: what was accepted has a record, unless Redis lost it. At rest it has ended, unless the model ran out of instances.
Accepted == \A c \in Containers : con[c] = None => Lost
Finished == AtRest => \A c \in Containers : con[c] = None \/ Over(c) \/ (Waits(c) /\ used = Instances)
\* V2: a container that has used up its attempts has ended.
Bounded == \A c \in Containers : con[c] = None \/ Over(c) \/ con[c].tries < Cap
\* V3: at rest there is no machine and no record: nobody needs one.
NoLeak == AtRest => \A v \in Ids : ~Up(v)
\* V6: no call goes out without its intent.
IntentFirst == ~ghost.bare
\* V12: after a loss the same runs go on, and the records know them. Until then nobody is told that they are missing.
Known == Lost /\ compared /\ ~Held =>
  \A v \in Ids, c \in Containers : Up(v) /\ vm[v].st[c] = "on" =>
    Sent(c) /\ con[c].run = vm[v].run[c] /\ inst[con[c].on] # None /\ inst[con[c].on].vm = v
\* V12: what ended with a result is not started again, as long as its machine stands.
NotAgain == ~ghost.again
=============================================================================
