/** Controls of what custom resources declare: `src/reconcile`, as the samples of `kit/reconcile` run it. */
import type { Control } from './control.ts'

const client = 'src/kube/client.ts'

export const controlsOfDeclarations: readonly Control[] = [
  {
    // A change or a removal is bound to the UID alone.
    name: 'no-resource-version',
    attacks: [
      { name: 'N3 ', expected: /a later write was undone/ },
      { name: 'tenants N3 ', expected: /a later write was undone/ },
      { name: 'apps G5 late', expected: / became / },
    ],
    edits: [
      {
        file: client,
        find: 'metadata: { ...patch.metadata, uid: ref.uid, resourceVersion }',
        replace: 'metadata: { ...patch.metadata, uid: ref.uid }',
      },
      {
        file: client,
        find: 'preconditions: { uid: ref.uid, resourceVersion }',
        replace: 'preconditions: { uid: ref.uid }',
      },
    ],
  },
  {
    // A creation is an apply: it takes what has the name.
    name: 'no-post-first',
    attacks: [{ name: 'N5 ', expected: /was touched/ }],
    edits: [
      {
        file: 'src/reconcile/writer.ts',
        find: 'if (isAlreadyExists(error)) await this.#get(refOf(object))',
        replace: `const { uid } = (await this.#get(refOf(object)))!.metadata
      await kube.patch({ ...refOf(object), uid: uid! }, object)`,
      },
    ],
  },
  {
    // An object is created by nobody, and gets its owner by a second write.
    name: 'owner-later',
    attacks: [{ name: 'N3 ', expected: /of a parent that is gone, and it stays/ }],
    edits: [
      {
        file: 'src/reconcile/writer.ts',
        find: "const { metadata } = await kube.create(object, this.#call('create', object))",
        replace: `const { ownerReferences, ...bare } = object.metadata
      const made = await kube.create({ ...object, metadata: bare }, this.#call('create', object))
      const ref = { ...refOf(object), uid: made.metadata.uid! }
      const { metadata } = (await kube.patch(ref, { metadata: { ownerReferences } }))!`,
      },
    ],
  },
  {
    // Only events of the parents name keys.
    name: 'no-event-to-key',
    attacks: [
      { name: 'N3 ', expected: /wrong for/ },
      { name: 'tenants N3 ', expected: /wrong for|it stays/ },
    ],
    edits: [
      {
        file: 'src/reconcile/reconciler.ts',
        find: 'for (const { key, urgent } of keysOf(change))',
        replace: 'if (watch.kind === kind.parent.kind) for (const { key, urgent } of keysOf(change))',
      },
    ],
  },
  {
    // Each release answers each change of the other.
    name: 'no-pause',
    attacks: [{ name: 'N4 two releases with', expected: /writes for each parent/ }],
    edits: [
      {
        file: 'src/reconcile/rivals.ts',
        find: 'return wish === this.#wish && nowMs < this.#pausedUntilMs',
        replace: 'return wish === undefined && nowMs < this.#pausedUntilMs',
      },
    ],
  },
  {
    // An object that is missing again looks as it did before, and is no change of another's.
    name: 'missing-seen-once',
    attacks: [{ name: 'N4 two releases that want', expected: /writes for each parent|all are contended/ }],
    edits: [
      {
        file: 'src/reconcile/rivals.ts',
        find: 'this.#lastSeen = undefined\n    if (wish === this.#wish) return',
        replace: 'if (wish === this.#wish) return\n    this.#lastSeen = undefined',
      },
      {
        file: 'src/reconcile/rivals.ts',
        find: 'if (wish !== this.#wish) return\n    this.#lastSeen = undefined',
        replace: 'if (wish !== this.#wish) return',
      },
    ],
  },
  {
    name: 'one-lane',
    whole: true,
    attacks: [
      { name: 'N2 a revocation passes', expected: /the revocation took/ },
      { name: 'tenants N2 a removal passes', expected: /a removal took/ },
    ],
    edits: [
      {
        file: 'src/reconcile/queue.ts',
        find: 'const lane = asked.urgent ? this.#urgent : this.#normal',
        replace: 'const lane = this.#normal',
      },
    ],
  },
  {
    // Secret values stay in the PhApplication.
    name: 'apps-env-in-clear',
    attacks: [{ name: 'apps G10 ', expected: /a value by REST is in \S*\/phapplications\/by-rest/ }],
    edits: [
      {
        file: 'src/appcontrol/env.ts',
        find: 'if (!isSecret(name, value)) return { name, value }',
        replace: 'if (value !== undefined) return { name, value }',
      },
    ],
  },
]
