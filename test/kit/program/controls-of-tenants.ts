/** Controls of tenants: `src/tenants`, what serves them, and the policies of `k8s/components/tenants`. */
import type { Control } from './control.ts'

const kind = 'src/tenants/kind.ts'
const fence = 'k8s/components/tenants/fence.yaml'
const guard = 'k8s/components/tenants/guard.yaml'
const turn = 'src/reconcile/turn.ts'
const statements = 'src/billing/postgres/statements.ts'

export const controlsOfTenants: readonly Control[] = [
  {
    // The controller believes that admission has refused all reserved names.
    name: 'no-reserved-check',
    attacks: [{ name: 'tenants N1 what was stored', expected: /a stranger may/ }],
    edits: [
      { file: 'src/tenants/rules.ts', find: 'if (reserved) return refused', replace: 'if (false) return refused' },
    ],
  },
  {
    // An LNamespace takes any Namespace of nobody for its own, and no policy refuses that.
    name: 'adoption',
    attacks: [{ name: 'tenants N1 what was stored', expected: /a stranger may/ }],
    edits: [
      {
        file: 'src/tenants/platform.ts',
        find: 'adopts: fact => adoptionOf(fact) === parent.uid',
        replace: 'adopts: () => true',
      },
      {
        file: fence,
        find: "|| variables.formerAnnotations[?'lns.skylab/adopt'].orValue('') == variables.uid",
        replace: '|| true',
      },
    ],
  },
  {
    // Nothing is taken away without the lease.
    name: 'lease-mandatory',
    attacks: [
      { name: 'tenants N2 a removal without Redis', expected: /took|before the removal/ },
      { name: 'tenants N2 a removal while', expected: /took/ },
    ],
    edits: [
      {
        file: turn,
        find: 'if (onlyRevocations && (memory.refusals === 0 || !revokes)) {',
        replace: "if (onlyRevocations || this.#lease === 'silent') {",
      },
    ],
  },
  {
    // An object of others is changed like one of ours, and no policy refuses that.
    name: 'no-owner-check',
    attacks: [
      { name: 'tenants N5 ', expected: /was touched/ },
      { name: 'apps G6 ', expected: /was changed/ },
    ],
    edits: [
      {
        file: 'src/reconcile/plan.ts',
        find: 'if (!ours && !mayAdopt(wish, fact, parent))',
        replace: 'if (!ours && mayAdopt === undefined)',
      },
      {
        file: kind,
        find: 'return { objects: withoutForeign(',
        replace: 'return { objects: ((all: typeof objects, ..._: unknown[]) => all)(',
      },
      {
        file: fence,
        find: 'variables.isCreation || variables.isNamespace || (variables.formerOwners.size() > 0',
        replace: 'true || (variables.formerOwners.size() > 0',
      },
      {
        file: 'k8s/components/apps/fence.yaml',
        find: '!variables.isChild || variables.isCreation || (variables.formerOwners.size() > 0',
        replace: 'true || (variables.formerOwners.size() > 0',
      },
    ],
  },
  {
    name: 'no-kind-sudoer',
    attacks: [{ name: 'tenants N6 a sudoer', expected: /is Ready|the right of a listed sudoer/ }],
    edits: [
      {
        file: 'src/run/tenants/replica.ts',
        find: 'const reconcilers = [tenants, sudoers]',
        replace: 'const reconcilers = [tenants]',
      },
    ],
  },
  {
    // Rights come first, and then what bounds them.
    name: 'stages-reversed',
    attacks: [{ name: 'tenants N7 kills', expected: /a right before/ }],
    edits: [
      {
        file: 'src/tenants/objects.ts',
        find: '{ namespace: 0, platform: 1, roles: 2, bindings: 3 }',
        replace: '{ namespace: 0, platform: 3, roles: 1, bindings: 2 }',
      },
    ],
  },
  {
    // Everybody may write what the guard keeps. It is there, so the controller goes on.
    name: 'no-guard',
    attacks: [{ name: 'tenants N7 sudo', expected: /it was admitted/ }],
    edits: [
      {
        file: guard,
        find: '- name: mayWrite\n      expression: >-\n        authorizer',
        replace: '- name: mayWrite\n      expression: >-\n        true || authorizer',
      },
    ],
  },
  {
    // Names of sudoers become names of objects by one character for several, and no policy refuses that.
    name: 'dashed-names',
    attacks: [{ name: 'tenants N4 ', expected: /writes at rest|is listed by|all tenants are ready/ }],
    edits: [
      {
        file: 'src/tenants/names.ts',
        find: "name.replaceAll('=', '=3D')",
        replace: "name.replaceAll(/[.@_]/g, '-').replaceAll('=', '=3D')",
      },
      {
        file: fence,
        find: "variables.name\n        == 'lns:self:' + variables.about.replace",
        replace: "variables.name\n        != '=' + variables.about.replace",
      },
      {
        file: fence,
        find: "variables.name == 'lns:self:'\n        + variables.subjects[0].name.replace",
        replace: "variables.name != '='\n        + variables.subjects[0].name.replace",
      },
    ],
  },
  {
    // Values are equal only if they are written alike.
    name: 'equality',
    attacks: [{ name: 'tenants N10 ', expected: /writes at rest|all tenants are ready/ }],
    edits: [
      {
        file: 'src/reconcile/merge.ts',
        find: 'return isQuantity(path) && quantityOf(wanted) !== undefined && quantityOf(wanted) === quantityOf(live)',
        replace: 'return isQuantity(path) && wanted === live',
      },
    ],
  },
  {
    // A turn says what it is about to do as done, and then does it, so late that whoever looks sees it.
    name: 'status-first',
    attacks: [{ name: 'tenants N11 ', expected: /Ready was said while/ }],
    edits: [
      {
        file: turn,
        find: "await this.#stages.carryOut(onlyRevocations ? 'revocations' : 'all', this.#lease === 'silent')",
        replace:
          "await this.#report()\n      await this.#options.clock.sleep(500)\n      await this.#stages.carryOut(onlyRevocations ? 'revocations' : 'all', this.#lease === 'silent')",
      },
      {
        file: 'src/reconcile/reporter.ts',
        find: "if (this.#isBehind(look)) return 'behind'",
        replace: '',
      },
      {
        file: 'src/reconcile/look.ts',
        find: 'settled: acts.length === 0 && failure === undefined && due.length === 0',
        replace: 'settled: true',
      },
      {
        file: 'src/reconcile/look.ts',
        find: 'made: acts.length === 0 && failure === undefined',
        replace: 'made: true',
      },
    ],
  },
  {
    // Whoever writes last is right: a sender that slept overwrites what came after it.
    name: 'no-bill-generation',
    attacks: [{ name: 'tenants N8 a sender', expected: /the table differs|lines? of the log/ }],
    edits: [
      {
        file: statements,
        find: 'h.closed_at IS NULL AND (h.generation, h.revision) < (EXCLUDED.generation, EXCLUDED.revision)',
        replace: 'h.closed_at IS NULL',
      },
    ],
  },
  {
    // A late bill is written although its LNamespace has ended.
    name: 'no-bill-end',
    attacks: [{ name: 'tenants N8 a sender', expected: /the table differs/ }],
    edits: [
      {
        file: statements,
        find: 'WHERE h.closed_at IS NULL AND (h.generation, h.revision) <',
        replace: 'WHERE (h.generation, h.revision) <',
      },
    ],
  },
  {
    // Only turns leave bills.
    name: 'no-bill-compare',
    attacks: [{ name: 'tenants N8 Redis', expected: /the table differs/ }],
    edits: [
      {
        file: 'src/billing/comparing.ts',
        find: 'nowMs < this.#againMs || unguarded() !== undefined) return undefined',
        replace: 'nowMs < this.#againMs || unguarded() !== null) return undefined',
      },
    ],
  },
]
