------------------------------ MODULE Operation ------------------------------
(* The life of an operation: accept, own, run step by step, finish. *)
EXTENDS State

Set(r, me) == run' = [run EXCEPT ![r] = me]
Holds(r, phase) == run[r] # None /\ run[r].phase = phase
At(r, steps) == Holds(r, "ready") /\ run[r].step \in steps
\* The sender no longer waits for the answer; the request may still land.
Orphaned(r) == {IF m.sender = r THEN [m EXCEPT !.sender = None] ELSE m : m \in wire}

-----------------------------------------------------------------------------
(* Accept *)
MayAccept == May("accepts") /\ IF GenerationInScript THEN Compared ELSE ghost.consulted
\* Negative control: the replica asks in advance whether the data were compared.
Consult ==
  /\ ~GenerationInScript /\ Compared /\ ~ghost.consulted
  /\ ghost' = [ghost EXCEPT !.consulted = TRUE]
  /\ UNCHANGED <<redis, outer, cluster, wire, run, cmp, word, left>>

AcceptCreate ==
  /\ MayAccept
  /\ rec # None => rec.status = "failed"
  /\ LET op == Draw({RecordOp, redis.tombstone}) IN
     /\ redis' = [redis EXCEPT !.rec = NewRecord(op, "pending", "clear.namespace", None, None),
                               !.tombstone = 0, !.last = op]
     /\ ghost' = Intend(Grant([ghost EXCEPT !.consulted = FALSE], op), op - 1)
  /\ Count("accepts")
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word>>

\* Also supersedes a creation in progress.
AcceptDelete ==
  /\ MayAccept
  /\ rec # None /\ rec.status # "terminating"
  /\ LET op == Draw({RecordOp}) IN
     /\ StartDeletion(op, rec.ns, rec.pod)
     /\ ghost' = Unpromise(Intend(Grant([ghost EXCEPT !.consulted = FALSE], op), op))
  /\ Count("accepts")
  /\ UNCHANGED <<outer, cluster, wire, run, cmp, word>>

-----------------------------------------------------------------------------
(* Own: the lease by redlock, then the claim by a script. There are no extensions: the lease holds until a fault ends it. *)
Acquire(r) ==
  /\ run[r] = None /\ redis.lease = None /\ Compared /\ Active
  /\ LET token == Fresh(Tokens) IN
     redis' = [redis EXCEPT !.lease = token] /\ Set(r, [phase |-> "taken", token |-> token])
  /\ UNCHANGED <<outer, cluster, wire, cmp, word, left, ghost>>

\* Gives the lease back and removes the token from the record, if they are still ours.
Release(r) ==
  LET token == run[r].token IN
  /\ redis' = [redis EXCEPT !.lease = IF @ = token THEN None ELSE @,
                            !.rec = IF IsActive(@) /\ @.token = token THEN [@ EXCEPT !.token = None] ELSE @]
  /\ Set(r, None)

Claim(r) ==
  /\ Holds(r, "taken")
  /\ LET token == run[r].token IN
     IF Compared /\ redis.lease = token /\ Active
     THEN /\ redis' = [redis EXCEPT !.rec.token = token]
          /\ Set(r, [phase |-> "ready", token |-> token, op |-> rec.op, step |-> rec.step, base |-> rec.step,
                     ns |-> rec.ns, pod |-> rec.pod, doubt |-> rec.op <= redis.found,
                     old |-> rec.op <= redis.found, remains |-> FALSE, outcome |-> None])
     ELSE Release(r)
  /\ UNCHANGED <<outer, cluster, wire, cmp, word, left, ghost>>

\* include/owner.lua
Fenced(me) == ~(Active /\ rec.op = me.op /\ (TokenChecked => rec.token = me.token))
Wrote(g, me) == [g EXCEPT !.intruded = @ \/ rec.token # me.token]

\* An extension was refused, or the bell announced a successor.
Stop(r) ==
  /\ run[r] # None /\ run[r].phase # "taken"
  /\ redis.lease = run[r].token => Fenced(run[r])
  /\ Release(r) /\ wire' = Orphaned(r)
  /\ UNCHANGED <<outer, cluster, cmp, word, left, ghost>>

-----------------------------------------------------------------------------
(* Steps *)
Clears == {"clear.namespace", "clear.namespace-gone"}
Makes == {"make.namespace", "make.content", "make.pod"}
Creation == <<"clear.namespace", "clear.namespace-gone", "make.namespace", "make.content", "make.pod", "start">>
Deletion == <<"namespace", "namespace-gone">>
Cleaning == <<"clean.namespace", "clean.namespace-gone">>
Lists == {Creation, Deletion, Cleaning}
Steps == UNION {{list[i] : i \in DOMAIN list} : list \in Lists}
ListOf == [step \in Steps |-> CHOOSE list \in Lists : \E i \in DOMAIN list : list[i] = step]
PlaceOf == [step \in Steps |-> CHOOSE i \in DOMAIN ListOf[step] : ListOf[step][i] = step]
IsLast(step) == PlaceOf[step] = Cardinality(DOMAIN ListOf[step])
OutcomeOf(step) == IF step = "start" THEN "running" ELSE IF step = "namespace-gone" THEN "gone" ELSE "failed"

Following(step) == ListOf[step][PlaceOf[step] + 1]
\* A step that had nothing to do is not recorded.
Advanced(me) ==
  IF IsLast(me.step) THEN [me EXCEPT !.phase = "finishing", !.outcome = OutcomeOf(me.step)]
  ELSE [me EXCEPT !.phase = "ready", !.step = Following(@)]
\* The result of the last step has no commit of its own: the script that ends the operation records it.
Done(me) == IF IsLast(me.step) THEN Advanced(me) ELSE [me EXCEPT !.phase = "done"]
Inside == UNCHANGED <<redis, outer, cluster, cmp, word, left, ghost>>

Request(verb, kind, op, uid, owner, sender) ==
  [verb |-> verb, kind |-> kind, op |-> op, uid |-> uid, owner |-> owner, sender |-> sender]
Send(r, verb, kind, op, uid, owner) ==
  /\ wire' = wire \cup {Request(verb, kind, op, uid, owner, r)}
  /\ Set(r, [run[r] EXCEPT !.phase = "sent"])

\* Only a creation trusts the watches that an object is absent, and not while it doubts them.
NothingStands(me) ==
  ns # None => \/ me.step \in Clears /\ ~me.doubt
               \/ me.step \in Clears /\ ns.op = me.op /\ ~ns.terminating
               \/ me.step \in Clears /\ ~NamespacePerCreation
               \/ ~AbsenceAsked
Remove(r) ==
  /\ At(r, {"clear.namespace", "clean.namespace", "namespace"})
  /\ LET me == run[r] IN
     \/ NothingStands(me) /\ Set(r, Advanced(me)) /\ UNCHANGED wire
     \/ /\ ns # None /\ ns.op <= me.op /\ ns.terminating
        /\ Set(r, [me EXCEPT !.phase = "done", !.ns = ns.uid]) /\ UNCHANGED wire
     \/ /\ ns # None /\ ~ns.terminating /\ (ns.op < me.op \/ (ns.op = me.op /\ me.step \notin Clears))
        /\ Send(r, "delete", "namespace", ns.op, ns.uid, None)
  /\ Inside

\* Proof is the DELETED event of this UID, or a GET.
AwaitGone(r) ==
  /\ At(r, {"clear.namespace-gone", "clean.namespace-gone", "namespace-gone"})
  /\ LET me == run[r]
         forgetful == [me EXCEPT !.ns = None, !.pod = None] IN
     \/ me.ns = None /\ Set(r, Advanced(me))
     \/ me.ns # None /\ me.step \in Clears /\ NothingStands(me) /\ Set(r, Advanced(forgetful))
     \/ /\ me.ns # None /\ (ns # None => ns.uid # me.ns)
        /\ Set(r, Done(forgetful))
  /\ UNCHANGED wire /\ Inside

KindOf(step) == CASE step = "make.namespace" -> "namespace" [] step = "make.content" -> "env" [] OTHER -> "pod"
Make(r) ==
  /\ At(r, Makes)
  /\ LET kind == KindOf(run[r].step) IN
     Send(r, "create", kind, run[r].op, None, IF kind = "namespace" THEN None ELSE run[r].ns)
  /\ Inside

\* After AlreadyExists the owner reads the existing object.
AdoptNamespace(r) ==
  /\ Holds(r, "exists") /\ run[r].step = "make.namespace"
  /\ LET me == run[r]
         done == Set(r, [me EXCEPT !.phase = "done", !.ns = ns.uid]) IN
     IF ns = None THEN Set(r, [me EXCEPT !.phase = "ready"]) /\ UNCHANGED ns
     ELSE IF ns.op > me.op THEN Set(r, [me EXCEPT !.phase = "ready", !.doubt = TRUE]) /\ UNCHANGED ns
     ELSE IF ns.op = me.op /\ ~ns.terminating THEN done /\ UNCHANGED ns
     ELSE IF ~NamespacePerCreation /\ ~ns.terminating THEN done /\ ns' = [ns EXCEPT !.op = me.op]
     ELSE Set(r, [me EXCEPT !.phase = "ready", !.step = "clear.namespace", !.doubt = TRUE]) /\ UNCHANGED ns
  /\ UNCHANGED <<redis, outer, env, pod, wire, cmp, word, left, ghost>>

NamespaceStands(me) == ns # None /\ ns.uid = me.ns /\ ~ns.terminating
\* A foreign object in our own namespace is debris.
Adopt(r) ==
  /\ Holds(r, "exists") /\ run[r].step \in {"make.content", "make.pod"}
  /\ LET me == run[r]
         kind == KindOf(me.step)
         object == IF kind = "env" THEN env ELSE pod IN
     IF object = None THEN Set(r, [me EXCEPT !.phase = "ready"]) /\ UNCHANGED wire
     ELSE IF (object.op = me.op /\ object.owner = me.ns) \/ ~LowerOpIsDebris
     THEN Set(r, [me EXCEPT !.phase = "done", !.pod = IF kind = "pod" THEN object.uid ELSE @]) /\ UNCHANGED wire
     ELSE IF ~NamespaceStands(me) THEN Set(r, [me EXCEPT !.phase = "failing"]) /\ UNCHANGED wire
     ELSE Send(r, "delete", kind, object.op, object.uid, None)
  /\ Inside

\* After a refusal inside a namespace the owner checks whether the namespace is still its own.
Refused(r) ==
  /\ Holds(r, "refused")
  /\ Set(r, [run[r] EXCEPT !.phase = IF NamespaceStands(run[r]) THEN "ready" ELSE "failing"])
  /\ UNCHANGED wire /\ Inside

AwaitStart(r) ==
  /\ At(r, {"start"})
  /\ IF pod = None \/ pod.uid # run[r].pod \/ pod.state = "ended" THEN Set(r, [run[r] EXCEPT !.phase = "failing"])
     ELSE pod.state = "started" /\ Set(r, Done(run[r]))
  /\ UNCHANGED wire /\ Inside

\* The deadline ends each kind of wait.
DeadlinePasses(r) ==
  /\ run[r] # None /\ run[r].phase \in {"ready", "sent", "exists", "refused"}
  /\ May("deadlines") /\ Count("deadlines")
  /\ Set(r, IF ListOf[run[r].step] = Creation THEN [run[r] EXCEPT !.phase = "failing"]
            ELSE [run[r] EXCEPT !.phase = "finishing", !.outcome = "failed", !.remains = TRUE])
  /\ wire' = Orphaned(r)
  /\ UNCHANGED <<redis, outer, cluster, cmp, word, ghost>>

\* Before a creation fails it asks the API server whether its lab is complete after all.
FindWhole(r) ==
  /\ Holds(r, "failing")
  /\ LET whole == /\ ns # None /\ ns.op = run[r].op /\ ~ns.terminating
                  /\ pod # None /\ pod.owner = ns.uid /\ pod.state = "started" IN
     Set(r, IF whole THEN [run[r] EXCEPT !.phase = "finishing", !.outcome = "running", !.ns = ns.uid, !.pod = pod.uid]
            ELSE [run[r] EXCEPT !.phase = "doomed"])
  /\ UNCHANGED wire /\ Inside

\* The API server refuses, or is silent. If the record may be an old one, a client may know of the lab.
Unanswered(r) ==
  /\ Holds(r, "failing") /\ (AnsweredWhereOld => ~run[r].old)
  /\ May("refusals") /\ Count("refusals")
  /\ Set(r, [run[r] EXCEPT !.phase = "finishing", !.outcome = "failed", !.remains = TRUE])
  /\ UNCHANGED <<redis, outer, cluster, wire, cmp, word, ghost>>

-----------------------------------------------------------------------------
(* Scripts of an owner. Each names its position in the stream of events; here that is the step that it last wrote or read. *)
Accepted(me, step) == ~Fenced(me) /\ rec.step \in {me.base, step}
\* The reply arrives, or is lost: then the owner sends the script again.
Told(r, me) ==
  \/ Set(r, me) /\ UNCHANGED left
  \/ May("lostReplies") /\ Count("lostReplies") /\ UNCHANGED run

Commit(r) ==
  /\ Holds(r, "done")
  /\ LET me == run[r]
         step == Following(me.step) IN
     IF Accepted(me, step)
     THEN /\ redis' = [redis EXCEPT !.rec.step = step, !.rec.ns = me.ns, !.rec.pod = me.pod]
          /\ Told(r, [Advanced(me) EXCEPT !.base = step])
          /\ ghost' = Wrote(ghost, me)
     ELSE Release(r) /\ UNCHANGED <<left, ghost>>
  /\ UNCHANGED <<outer, cluster, wire, cmp, word>>

\* An owner destroys objects only after the record says so.
CommitFailing(r) ==
  /\ Holds(r, "doomed")
  /\ LET me == run[r]
         cleaning == [me EXCEPT !.phase = "ready", !.step = "clean.namespace"] IN
     IF ~IntentFirst THEN Set(r, cleaning) /\ UNCHANGED <<redis, left, ghost>>
     ELSE IF Accepted(me, "clean.namespace")
     THEN /\ redis' = [redis EXCEPT !.rec.step = "clean.namespace"]
          /\ Told(r, [cleaning EXCEPT !.base = "clean.namespace"])
          /\ ghost' = Wrote(Intend(ghost, me.op), me)
     ELSE Release(r) /\ UNCHANGED <<left, ghost>>
  /\ UNCHANGED <<outer, cluster, wire, cmp, word>>

\* The bell announces the end of an operation: the watches then judge again what they could not write meanwhile.
RingEnded == word' = IF JudgedAgain THEN "due" ELSE word

Finish(r) ==
  /\ Holds(r, "finishing")
  /\ LET me == run[r]
         ended == [rec EXCEPT !.status = me.outcome, !.token = None, !.ns = me.ns, !.pod = me.pod, !.step = "",
                              !.remains = me.remains] IN
     IF Fenced(me) \/ (IntentFirst /\ rec.step # me.base) THEN Release(r) /\ UNCHANGED <<word, left, ghost>>
     ELSE /\ redis' = [redis EXCEPT !.lease = IF @ = me.token THEN None ELSE @,
                                    !.tombstone = IF me.outcome = "gone" THEN me.op ELSE @,
                                    !.rec = IF me.outcome = "gone" THEN None ELSE ended]
          /\ ghost' = Wrote(IF me.outcome = "running" THEN Promise(ghost, me.op, me.pod)
                            ELSE IF me.remains THEN Intend(ghost, me.op) ELSE ghost, me)
          /\ RingEnded /\ Told(r, None)
  /\ UNCHANGED <<outer, cluster, wire, cmp>>

OwnerStep(r) ==
  \/ Acquire(r) \/ Claim(r) \/ Stop(r) \/ Remove(r) \/ AwaitGone(r) \/ Make(r) \/ AdoptNamespace(r) \/ Adopt(r)
  \/ Refused(r) \/ AwaitStart(r) \/ FindWhole(r) \/ Commit(r) \/ CommitFailing(r) \/ Finish(r)
=============================================================================
