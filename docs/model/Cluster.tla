------------------------------- MODULE Cluster -------------------------------
(* The API server and its clients. A request that passed its checks may be
   applied at any later moment, so the checks have no state of their own. The
   policy can refuse it as long as its copy says so. Later the request can
   land, whatever objects exist by then. *)
EXTENDS Operation

Reply(m, change) == run' = IF m.sender = None THEN run ELSE [run EXCEPT ![m.sender] = change]
Sender(m) == run[m.sender]
\* Every replica watches, and one judgement is enough: the model has one watch for all.
Hear == word' = IF pod # None /\ pod' # pod THEN "due" ELSE word
Say(m, phase) == Reply(m, [Sender(m) EXCEPT !.phase = phase])

CreateNamespace(m) ==
  LET uid == Fresh(NamespaceUids) IN
  /\ UNCHANGED <<env, pod>>
  /\ IF ns # None THEN Say(m, "exists") /\ UNCHANGED ns
     ELSE /\ ns' = [uid |-> uid, op |-> m.op, terminating |-> FALSE, copied |-> FALSE]
          /\ Reply(m, [Sender(m) EXCEPT !.phase = "done", !.ns = uid])

CreateObject(m) ==
  LET uid == Fresh(ObjectUids)
      object == [uid |-> uid, op |-> m.op, owner |-> m.owner] IN
  /\ UNCHANGED ns
  /\ IF ns = None \/ ns.terminating THEN Say(m, "refused") /\ UNCHANGED <<env, pod>>
     ELSE IF m.kind = "env"
     THEN /\ UNCHANGED pod
          /\ IF env # None THEN Say(m, "exists") /\ UNCHANGED env ELSE Say(m, "done") /\ env' = object
     ELSE /\ UNCHANGED env
          /\ IF pod # None THEN Say(m, "exists") /\ UNCHANGED pod
             ELSE /\ pod' = object @@ [state |-> "made", saw |-> None]
                  /\ Reply(m, [Sender(m) EXCEPT !.phase = "done", !.pod = uid])

\* A delete names the UID that was read.
Delete(m) ==
  LET Gone(object) == IF object # None /\ object.uid = m.uid THEN None ELSE object IN
  IF m.kind = "namespace"
  THEN /\ UNCHANGED <<env, pod>>
       /\ IF ns # None /\ ns.uid = m.uid
          THEN ns' = [ns EXCEPT !.terminating = TRUE] /\ Reply(m, [Sender(m) EXCEPT !.phase = "done", !.ns = m.uid])
          ELSE UNCHANGED ns /\ Reply(m, [Sender(m) EXCEPT !.phase = "ready", !.doubt = TRUE])
  ELSE /\ env' = (IF m.kind = "env" THEN Gone(env) ELSE env)
       /\ pod' = (IF m.kind = "pod" THEN Gone(pod) ELSE pod)
       /\ UNCHANGED ns /\ Say(m, "ready")

Lands(m) ==
  /\ wire' = wire \ {m}
  /\ IF m.verb = "delete" THEN Delete(m) ELSE IF m.kind = "namespace" THEN CreateNamespace(m) ELSE CreateObject(m)
  /\ Hear
  /\ UNCHANGED <<redis, outer, cmp, left, ghost>>

\* A request whose sender no longer waits may also never arrive.
Vanishes(m) ==
  /\ m.sender = None /\ wire' = wire \ {m}
  /\ UNCHANGED <<redis, outer, cluster, run, cmp, word, left, ghost>>

\* The policy uses its copy of the namespace, which may still be that of the former one.
IsRefused(m) ==
  /\ m.verb = "create" /\ m.kind # "namespace"
  /\ ns # None /\ (m.op = ns.op => ~ns.copied)
  /\ wire' = wire \ {m} /\ Say(m, "refused")
  /\ UNCHANGED <<redis, outer, cluster, cmp, word, left, ghost>>
Copy ==
  /\ ns # None /\ ~ns.copied /\ ns' = [ns EXCEPT !.copied = TRUE]
  /\ UNCHANGED <<redis, outer, env, pod, wire, run, cmp, word, left, ghost>>

NamespaceGoes ==
  /\ ns # None /\ ns.terminating
  /\ ns' = None /\ env' = None /\ pod' = None /\ Hear
  /\ UNCHANGED <<redis, outer, wire, run, cmp, left, ghost>>

IsGarbage(object) == object # None /\ (ns # None => object.owner # ns.uid)
CollectGarbage ==
  /\ \/ IsGarbage(env) /\ env' = None /\ UNCHANGED pod
     \/ IsGarbage(pod) /\ pod' = None /\ UNCHANGED env
  /\ Hear
  /\ UNCHANGED <<redis, outer, ns, wire, run, cmp, left, ghost>>

\* The pod reads the object at its start, whatever operation made it.
PodStarts ==
  /\ pod # None /\ pod.state = "made" /\ env # None
  /\ pod' = [pod EXCEPT !.state = "started", !.saw = [op |-> env.op, owner |-> env.owner]]
  /\ UNCHANGED <<redis, outer, ns, env, wire, run, cmp, word, left, ghost>>

\* The user shuts the lab down, or somebody else removes the pod.
PodEnding ==
  /\ pod # None /\ pod.state = "started" /\ May("podEnds") /\ Count("podEnds")
  /\ pod' \in {None, [pod EXCEPT !.state = "ended"]}
  /\ Hear
  /\ LET g == [ghost EXCEPT !.ended = @ \cup {pod.uid}] IN
     ghost' = IF g.promised # None /\ g.promised.pod = pod.uid THEN Unpromise(g) ELSE g
  /\ UNCHANGED <<redis, outer, ns, env, wire, run, cmp>>

Land == \E m \in wire : Lands(m)
Vanish == \E m \in wire : Vanishes(m)
Refuse == \E m \in wire : IsRefused(m)
ClusterStep == Land \/ Vanish \/ Refuse \/ Copy \/ NamespaceGoes \/ CollectGarbage \/ PodStarts
=============================================================================
