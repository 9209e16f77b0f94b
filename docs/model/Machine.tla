------------------------------ MODULE Machine ------------------------------
(* Containers on cloud machines: the state of Redis, of the cloud, and of the
   machines. A request to the cloud, or to a runner, may be carried out at any
   later moment, twice, or never, whatever its sender has checked before. *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Replicas, None, Containers,
  \* How many instances Redis may have, and the cloud; how many attempts a container has.
  Instances, Vms, Cap,
  \* How many containers an instance has room for.
  Room,
  \* How many instances stand in the beginning, each with its keeper: others needed them before.
  Warm,
  \* How often each of these may happen.
  Crashes, Pauses, Losses, Timeouts, Breaks, Moves, Cancels, Twins,
  \* The rules of the protocol; a negative control switches one of them off.
  EpochChecked, RunChecked, ProofBars, ProofFrees, GoneProved, CapCounted, CallAfterIntent, StartAfterIntent,
  Swept, ListedFirst, HeldAfterLoss, AllDoubted, HeldUntilProof, HeldSends, ClaimsEnd, ByTime, EndsKept,
  RoomCounted, EmptyEnds

VARIABLES
  con,       \* Redis: the record of each container
  inst,      \* Redis: the record of each instance
  compared,  \* Redis: whether its data were compared with the cloud
  backup,    \* an earlier state of Redis
  vm,        \* the cloud: its machines, with what their runners know
  calls,     \* calls to the cloud that may still be carried out
  wire,      \* starts and kills that a runner may still read
  used,      \* the last instance that was drawn: by the clock of Redis, so never twice
  left,      \* the remaining number of each fault
  ghost      \* state that only the invariants use

redis == <<con, inst, compared>>
cloud == <<vm, calls, wire>>
rest == <<backup, used, left, ghost>>
vars == <<redis, cloud, rest>>

Slots == 1..Instances
Ids == 1..Vms
Max(S) == CHOOSE x \in S : \A y \in S : y <= x
May(fault) == left[fault] > 0
Count(fault) == left' = [left EXCEPT ![fault] = @ - 1]

-----------------------------------------------------------------------------
(* Records. A container is queued; locked (it has an instance, which was not asked); sent (the instance was, or may have been,
   asked to start it: Locked or Running for users); ending (so, and its user cancelled it); complete or cancelled. *)
Queued == [st |-> "queued", on |-> 0, run |-> 0, tries |-> 0]
Sent(c) == con[c] # None /\ con[c].st \in {"sent", "ending"}
Over(c) == con[c] # None /\ con[c].st \in {"complete", "cancelled"}
Waits(c) == con[c] # None /\ con[c].st = "queued"
IsOf(c, s) == con[c] # None /\ con[c].st \in {"locked", "sent", "ending"} /\ con[c].on = s
Ended(record, st) == [record EXCEPT !.st = st, !.on = 0, !.run = 0]

\* The container has no run any more, by proof: it waits again, or its attempts are used up, or its user wants no more.
Freed(record) ==
  IF record.st = "ending" THEN Ended(record, "cancelled")
  ELSE IF record.st = "locked" THEN [record EXCEPT !.st = "queued", !.on = 0]
  ELSE IF CapCounted /\ record.tries + 1 >= Cap THEN Ended([record EXCEPT !.tries = Cap], "cancelled")
  ELSE [record EXCEPT !.st = "queued", !.on = 0, !.tries = @ + 1]

\* An instance: create (intended, no machine known), serve, destroy. `keeper`: the replica with its lease and claim. `seen`: a
\* keeper has read its list since the last loss.
Instance(step, v, seen) == [step |-> step, vm |-> v, keeper |-> None, epoch |-> 0, seen |-> seen]
Recorded(v) == \E s \in Slots : inst[s] # None /\ inst[s].vm = v
Free(s) == \A c \in Containers : ~IsOf(c, s)
\* A container takes its place from the moment when it is assigned, not only when it was sent.
Taken(s) == Cardinality({c \in Containers : IsOf(c, s) /\ (RoomCounted \/ Sent(c))})
Places(s) == IF inst[s] = None \/ inst[s].step = "destroy" THEN 0 ELSE Room - Taken(s)

-----------------------------------------------------------------------------
(* Machines *)
Is(v) == vm[v] # None
Up(v) == Is(v) /\ vm[v].up
Running(v) == {c \in Containers : Up(v) /\ vm[v].st[c] = "on"}
NewVm(s) == [tag |-> s, up |-> TRUE, listed |-> FALSE, epoch |-> 0,
             run |-> [c \in Containers |-> 0], st |-> [c \in Containers |-> "none"]]
GoneVm(s) == [NewVm(s) EXCEPT !.up = FALSE]
Of(s) == {v \in Ids : Is(v) /\ vm[v].tag = s}

\* Numbers are compared within one instance, or one container, only: so each of them has its own. Drawn by time: above all
\* that were ever drawn, here above all that are left. Otherwise: above those that Redis knows.
Epochs(s) ==
  LET its == Of(s) \cup (IF inst[s] # None /\ inst[s].vm > 0 THEN {inst[s].vm} ELSE {}) IN
  {vm[v].epoch : v \in its} \cup {m.epoch : m \in {x \in wire : x.vm \in its}}
DrawEpoch(s) == Max({inst[s].epoch} \cup IF ByTime THEN Epochs(s) ELSE {}) + 1
Runs(c) ==
  {vm[v].run[c] : v \in {x \in Ids : Is(x)}} \cup {m.run : m \in {x \in wire : x.c = c}}
  \cup (IF backup # None /\ backup.con[c] # None THEN {backup.con[c].run} ELSE {})
DrawRun(c) == Max({con[c].run} \cup IF ByTime THEN Runs(c) ELSE {}) + 1

-----------------------------------------------------------------------------
(* The cloud *)
Made(v, s) == vm' = [vm EXCEPT ![v] = NewVm(s)]
NextVm == CHOOSE v \in Ids : ~Is(v) /\ \A w \in 1..(v - 1) : Is(w)
\* Of a machine that is off nothing matters but that it is gone.
Off(v) ==
  /\ vm' = [vm EXCEPT ![v] = GoneVm(vm[v].tag)]
  /\ wire' = {m \in wire : m.vm # v}

\* The cloud makes the machine of an intent. The same token twice makes one machine; a twin if the token is not honoured.
CreateLands(s) ==
  /\ <<"create", s>> \in calls /\ calls' = calls \ {<<"create", s>>}
  /\ \/ Of(s) # {} /\ UNCHANGED <<vm, left>>
     \/ Of(s) = {} /\ (\E v \in Ids : ~Is(v)) /\ Made(NextVm, s) /\ UNCHANGED left
     \/ Of(s) # {} /\ (\E v \in Ids : ~Is(v)) /\ Made(NextVm, s) /\ May("twins") /\ Count("twins")
  /\ UNCHANGED <<redis, wire, backup, used, ghost>>

\* The cloud destroys a machine, with what runs there.
DestroyLands(v) ==
  /\ <<"destroy", v>> \in calls /\ calls' = calls \ {<<"destroy", v>>}
  /\ Off(v)
  \* Nothing was lost, and no time-out gave the machine up: then nothing may run there.
  /\ ghost' = [ghost EXCEPT !.cut = @ \/ (left.losses = Losses /\ left.timeouts = Timeouts /\ Running(v) # {})]
  /\ UNCHANGED <<redis, backup, used, left>>

\* The cloud never carries a call out, whatever it answered.
CallVanishes ==
  /\ \E call \in calls : calls' = calls \ {call}
  /\ UNCHANGED <<redis, vm, wire, rest>>

\* A listing shows a machine for the first time.
ListingShows(v) ==
  /\ Up(v) /\ ~vm[v].listed
  /\ vm' = [vm EXCEPT ![v].listed = TRUE]
  /\ UNCHANGED <<redis, calls, wire, rest>>

-----------------------------------------------------------------------------
(* The runner *)
Obeyed(m) == EpochChecked => m.epoch = vm[m.vm].epoch
Lines(verb) == {m \in wire : m.verb = verb}

\* The runner reads a start. It starts only a higher run, and no second one beside one that runs.
StartLands ==
  /\ \E m \in Lines("start") :
       LET it == vm[m.vm] IN
       /\ wire' = wire \ {m}
       /\ IF Obeyed(m) /\ (RunChecked => m.run > it.run[m.c]) /\ it.st[m.c] # "on"
          THEN /\ vm' = [vm EXCEPT ![m.vm].run[m.c] = m.run, ![m.vm].st[m.c] = "on"]
               /\ ghost' = [ghost EXCEPT !.again = @ \/ \E v \in Ids : Up(v) /\ vm[v].st[m.c] \in {"done", "told"}]
          ELSE UNCHANGED <<vm, ghost>>
  /\ UNCHANGED <<redis, calls, backup, used, left>>

\* The runner reads a kill. It also bars the run: a start of it that comes later is refused.
KillLands ==
  /\ \E m \in Lines("kill") :
       LET it == vm[m.vm] IN
       /\ wire' = wire \ {m}
       /\ IF Obeyed(m) /\ m.run >= it.run[m.c]
          THEN vm' = [vm EXCEPT ![m.vm].run[m.c] = m.run, ![m.vm].st[m.c] = IF @ = "on" THEN "lost" ELSE @]
          ELSE UNCHANGED vm
  /\ UNCHANGED <<redis, calls, rest>>

\* The channel breaks before the runner reads a line.
LineVanishes ==
  /\ \E m \in wire : wire' = wire \ {m}
  /\ UNCHANGED <<redis, vm, calls, rest>>

\* The command of a container exits. The runner keeps the result until it is acknowledged.
Exit(v, c) ==
  /\ Up(v) /\ vm[v].st[c] = "on"
  /\ vm' = [vm EXCEPT ![v].st[c] = "done"]
  /\ UNCHANGED <<redis, calls, wire, rest>>

World ==
  \/ \E s \in Slots : CreateLands(s)
  \/ \E v \in Ids : DestroyLands(v) \/ ListingShows(v) \/ \E c \in Containers : Exit(v, c)
  \/ CallVanishes \/ StartLands \/ KillLands \/ LineVanishes
=============================================================================
