------------------------------- MODULE Keeper -------------------------------
(* The scheduler, which writes intents, and the keepers, which carry them out.
   All their writes are scripts: each of them reads, decides and writes at
   once. *)
EXTENDS Machine

-----------------------------------------------------------------------------
(* The hold after a loss *)
\* An instance may run what Redis does not know: no keeper has read its list since the loss, and it is not proved to be gone.
Doubtful(s) == inst[s] # None /\ ~inst[s].seen /\ (HeldUntilProof \/ inst[s].step # "destroy")
Held == HeldAfterLoss /\ \E s \in Slots : Doubtful(s)

-----------------------------------------------------------------------------
(* The scheduler. Its script compares the versions that were read, so a decision is one step here. *)
Intends(s) == inst' = [inst EXCEPT ![s] = Instance("create", 0, TRUE)] /\ used' = s
Needed ==
  /\ compared /\ ~Held /\ used < Instances
  /\ Cardinality({c \in Containers : Waits(c)}) > Cardinality({p \in Slots \X (1..Room) : p[2] <= Places(p[1])})

\* The scheduler intends an instance, for a container that finds none.
Intend ==
  /\ Needed /\ Intends(used + 1)
  /\ UNCHANGED <<con, compared, cloud, backup, left, ghost>>

\* Negative control: the call goes out before the intent is written.
CallFirst ==
  /\ ~CallAfterIntent /\ Needed
  /\ used' = used + 1 /\ calls' = calls \cup {<<"create", used + 1>>}
  /\ ghost' = [ghost EXCEPT !.bare = TRUE]
  /\ UNCHANGED <<redis, vm, wire, backup, left>>

\* The scheduler gives a container an instance, and draws a run.
Assign(c, s) ==
  /\ compared /\ Waits(c) /\ ~Held
  /\ inst[s] # None /\ inst[s].step = "serve" /\ Places(s) > 0
  /\ con' = [con EXCEPT ![c] = [@ EXCEPT !.st = "locked", !.on = s, !.run = DrawRun(c)]]
  /\ UNCHANGED <<inst, compared, cloud, rest>>

\* The scheduler takes a container back that was not sent.
TakeBack(c) ==
  /\ compared /\ con[c] # None /\ con[c].st = "locked"
  /\ May("moves") /\ Count("moves")
  /\ con' = [con EXCEPT ![c] = Freed(@)]
  /\ UNCHANGED <<inst, compared, cloud, backup, used, ghost>>

\* A shutdown is never taken back. It also takes back what was not sent.
ShutDown(s) ==
  /\ inst' = [inst EXCEPT ![s].step = "destroy"]
  /\ con' = [c \in Containers |-> IF IsOf(c, s) /\ con[c].st = "locked" THEN Freed(con[c]) ELSE con[c]]

\* The scheduler ends an instance that nobody needs. Negative control: one that has a place left.
EndIdle(s) ==
  /\ compared /\ inst[s] # None /\ inst[s].step \in {"create", "serve"} /\ (IF EmptyEnds THEN Free(s) ELSE Places(s) > 0)
  /\ \A c \in Containers : ~Waits(c)
  /\ ShutDown(s)
  /\ UNCHANGED <<compared, cloud, rest>>

\* The scheduler ends an instance that does not boot, or does not answer, whatever runs there.
EndUnreachable(s) ==
  /\ compared /\ inst[s] # None /\ inst[s].step \in {"create", "serve"}
  /\ May("timeouts") /\ Count("timeouts")
  /\ ShutDown(s)
  /\ UNCHANGED <<compared, cloud, backup, used, ghost>>

\* Negative control: a container whose machine does not answer waits again at once.
Requeue(c) ==
  /\ ~ProofFrees /\ compared /\ con[c] # None /\ con[c].st = "sent"
  /\ May("timeouts") /\ Count("timeouts")
  /\ con' = [con EXCEPT ![c] = Freed(@)]
  /\ UNCHANGED <<inst, compared, cloud, backup, used, ghost>>

\* The user cancels. A container that was sent ends only by proof.
Cancel(c) ==
  /\ compared /\ con[c] # None /\ con[c].st \in {"queued", "locked", "sent"}
  /\ May("cancels") /\ Count("cancels")
  /\ con' = [con EXCEPT ![c] = IF @.st = "sent" THEN [@ EXCEPT !.st = "ending"] ELSE Ended(@, "cancelled")]
  /\ UNCHANGED <<inst, compared, cloud, backup, used, ghost>>

Scheduler ==
  \/ Intend \/ CallFirst
  \/ \E s \in Slots : EndIdle(s) \/ \E c \in Containers : Assign(c, s)

-----------------------------------------------------------------------------
(* A keeper owns an instance by lease and claim. Its scripts compare the token, which is the epoch here. So of a former keeper,
   stopped past its lease and unaware, only that matters what it has sent, or was about to send: it may still come. *)
Owns(r, s) == compared /\ inst[s] # None /\ inst[s].keeper = r
Claimed(s) == inst[s] # None /\ inst[s].keeper # None

Takes(r, s) ==
  /\ inst' = [inst EXCEPT ![s].epoch = DrawEpoch(s), ![s].keeper = r]
  /\ UNCHANGED <<con, compared, cloud, backup, used, ghost>>
\* A replica claims an instance without a keeper, and draws an epoch.
Claim(r, s) == compared /\ inst[s] # None /\ ~Claimed(s) /\ Takes(r, s) /\ UNCHANGED left
\* The keeper is stopped past its lease, and another replica claims. The former one wakes and goes on, unaware.
TakeOver(r, s) == compared /\ Claimed(s) /\ inst[s].keeper # r /\ May("pauses") /\ Count("pauses") /\ Takes(r, s)

Inside == UNCHANGED <<compared, rest>>

\* The keeper asks the cloud for the machine, with the token of the intent; again if no answer came.
CallCreate(r, s) ==
  /\ Owns(r, s) /\ inst[s].step = "create" /\ inst[s].vm = 0 /\ <<"create", s>> \notin calls
  /\ calls' = calls \cup {<<"create", s>>}
  /\ Inside /\ UNCHANGED <<con, inst, vm, wire>>

\* The keeper learns by the answer, or by a listing, which machine the intent has.
Learn(r, s, v) ==
  /\ Owns(r, s) /\ inst[s].vm = 0 /\ Up(v) /\ vm[v].tag = s /\ ~Recorded(v)
  /\ inst' = [inst EXCEPT ![s].vm = v, ![s].step = IF @ = "create" THEN "serve" ELSE @]
  /\ Inside /\ UNCHANGED <<con, cloud>>

\* The keeper drops an intent without a machine: it is to end, or its machine has come and gone. What comes late is swept.
DropIntent(r, s) ==
  /\ Owns(r, s) /\ inst[s].vm = 0
  /\ inst[s].step = "destroy" \/ (Of(s) # {} /\ \A v \in Of(s) : ~Up(v))
  /\ inst' = [inst EXCEPT ![s] = None]
  /\ Inside /\ UNCHANGED <<con, cloud>>

\* The keeper asks the cloud to destroy the machine; again as long as it is listed.
CallDestroy(r, s) ==
  /\ Owns(r, s) /\ inst[s].step = "destroy" /\ inst[s].vm > 0 /\ Up(inst[s].vm) /\ <<"destroy", inst[s].vm>> \notin calls
  /\ calls' = calls \cup {<<"destroy", inst[s].vm>>}
  /\ Inside /\ UNCHANGED <<con, inst, vm, wire>>

\* The machine is gone by proof: this alone ends the record, and frees its containers. Or, as a control, a listing lacks it.
Gone(r, s) ==
  /\ Owns(r, s) /\ inst[s].vm > 0
  /\ IF ~Up(inst[s].vm) THEN UNCHANGED left ELSE ~GoneProved /\ May("timeouts") /\ Count("timeouts")
  /\ inst' = [inst EXCEPT ![s] = None]
  /\ con' = [c \in Containers |-> IF IsOf(c, s) THEN Freed(con[c]) ELSE con[c]]
  /\ UNCHANGED <<compared, cloud, backup, used, ghost>>

-----------------------------------------------------------------------------
(* The keeper and the runner of its machine *)
It(s) == vm[inst[s].vm]
Attached(r, s) == Owns(r, s) /\ inst[s].vm > 0 /\ Up(inst[s].vm) /\ (EpochChecked => It(s).epoch = inst[s].epoch)
Line(verb, s, c, epoch) == [verb |-> verb, vm |-> inst[s].vm, c |-> c, run |-> con[c].run, epoch |-> epoch]
Say(verb, r, s, c) ==
  /\ Line(verb, s, c, inst[s].epoch) \notin wire
  /\ wire' = wire \cup {Line(verb, s, c, inst[s].epoch)}
Lacks(s, c) == It(s).run[c] < con[c].run

\* The runner stores the epoch of a keeper that says hello.
Hello(r, s) ==
  /\ Owns(r, s) /\ inst[s].vm > 0 /\ Up(inst[s].vm)
  /\ inst[s].epoch > It(s).epoch
  /\ vm' = [vm EXCEPT ![inst[s].vm].epoch = inst[s].epoch]
  \* What a former keeper sent is refused from now on: it need not come.
  /\ wire' = IF EpochChecked THEN {m \in wire : m.vm # inst[s].vm} ELSE wire
  /\ Inside /\ UNCHANGED <<con, inst, calls>>

\* A refusal tells the highest epoch, and the next claim draws a higher one. With epochs by time it never comes to this.
Refused(r, s) ==
  /\ Owns(r, s) /\ inst[s].vm > 0 /\ Up(inst[s].vm) /\ inst[s].epoch < It(s).epoch
  /\ inst' = [inst EXCEPT ![s].epoch = It(s).epoch, ![s].keeper = None]
  /\ Inside /\ UNCHANGED <<con, cloud>>

\* After a loss the list of a runner brings back what runs there, or ended there. A higher run than the record's wins.
BringBack(r, s) ==
  /\ Attached(r, s)
  /\ LET news == {c \in Containers :
                    /\ It(s).st[c] \in {"on", "done", "lost"}
                    /\ \/ con[c] = None
                       \/ ~Over(c) /\ con[c].run < It(s).run[c]
                       \/ ~Over(c) /\ ~Sent(c) /\ con[c].run = It(s).run[c]} IN
     /\ news # {} \/ ~inst[s].seen
     /\ con' = [c \in Containers |->
                  IF c \in news THEN [st |-> "sent", on |-> s, run |-> It(s).run[c],
                                      tries |-> IF con[c] = None THEN 0 ELSE con[c].tries] ELSE con[c]]
  /\ inst' = [inst EXCEPT ![s].seen = TRUE]
  /\ Inside /\ UNCHANGED cloud

MaySend(r, s, c) ==
  /\ Attached(r, s) /\ IsOf(c, s) /\ con[c].st = "locked" /\ inst[s].step = "serve"
  /\ HeldSends => ~Held
  /\ ListedFirst => It(s).listed
\* The keeper writes that it sends run R, and sends it. It may be stopped before the socket: then the line comes later.
Start(r, s, c) ==
  /\ MaySend(r, s, c)
  /\ con' = [con EXCEPT ![c].st = "sent"]
  /\ Say("start", r, s, c)
  /\ Inside /\ UNCHANGED <<inst, vm, calls>>

\* Negative control: the start goes out before the intent is written.
StartFirst(r, s, c) ==
  /\ ~StartAfterIntent /\ MaySend(r, s, c)
  /\ Say("start", r, s, c)
  /\ Inside /\ UNCHANGED <<redis, vm, calls>>

\* The keeper sends the same run again, if the runner lacks it: the line, or its answer, may be lost.
StartAgain(r, s, c) ==
  /\ Attached(r, s) /\ IsOf(c, s) /\ con[c].st = "sent" /\ Lacks(s, c)
  /\ Line("kill", s, c, inst[s].epoch) \notin wire
  /\ Say("start", r, s, c)
  /\ Inside /\ UNCHANGED <<redis, vm, calls>>

\* The keeper kills a run that its user cancelled, or that the runner lacks: only this makes its absence final.
Kill(r, s, c) ==
  /\ Attached(r, s) /\ IsOf(c, s) /\ Sent(c)
  /\ (ProofBars /\ Lacks(s, c)) \/ (con[c].st = "ending" /\ It(s).run[c] = con[c].run /\ It(s).st[c] = "on")
  /\ Say("kill", r, s, c)
  /\ Inside /\ UNCHANGED <<redis, vm, calls>>

\* The runner has the result: the container is complete. Then the keeper acknowledges it.
Complete(r, s, c) ==
  /\ Attached(r, s) /\ IsOf(c, s) /\ Sent(c) /\ It(s).run[c] = con[c].run /\ It(s).st[c] = "done"
  /\ con' = [con EXCEPT ![c] = Ended(@, "complete")]
  /\ vm' = IF EndsKept THEN vm ELSE [vm EXCEPT ![inst[s].vm].st[c] = "told"]
  /\ Inside /\ UNCHANGED <<inst, calls, wire>>

\* The runner has the end of the run without a result, or has barred it: proof. As a control, it just lacks the run.
FreeByProof(r, s, c) ==
  /\ Attached(r, s) /\ IsOf(c, s) /\ Sent(c)
  /\ IF Lacks(s, c) THEN ~ProofBars ELSE It(s).st[c] \in {"none", "lost", "told"}
  /\ con' = [con EXCEPT ![c] = Freed(@)]
  /\ vm' = IF It(s).st[c] = "lost" THEN [vm EXCEPT ![inst[s].vm].st[c] = "none"] ELSE vm
  /\ Inside /\ UNCHANGED <<inst, calls, wire>>

Keepers == \E r \in Replicas, s \in Slots :
  \/ Claim(r, s)
  \/ CallCreate(r, s) \/ DropIntent(r, s) \/ CallDestroy(r, s) \/ Gone(r, s)
  \/ \E v \in Ids : Learn(r, s, v)
  \/ Hello(r, s) \/ Refused(r, s) \/ BringBack(r, s)
  \/ \E c \in Containers :
       \/ Start(r, s, c) \/ StartFirst(r, s, c) \/ StartAgain(r, s, c) \/ Kill(r, s, c)
       \/ Complete(r, s, c) \/ FreeByProof(r, s, c)
=============================================================================
