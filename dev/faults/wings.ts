/** The wings of the attacks, by what is attacked: which files and which names each has. */

export const wings = ['labs', 'reconcile', 'tenants', 'idle', 'apps', 'gateway', 'dispatch'] as const
export type Wing = (typeof wings)[number]

/** All but the labs', which have the rest. */
const others: Readonly<Record<Exclude<Wing, 'labs'>, { readonly files: RegExp; readonly attacks: RegExp }>> = {
  reconcile: { files: /(^|-)declarations\./, attacks: /^N\d/ },
  tenants: { files: /^tenants\./, attacks: /^tenants / },
  idle: { files: /^idle\./, attacks: /^idle / },
  gateway: { files: /^gateway\./, attacks: /^gateway / },
  dispatch: { files: /^dispatch(-(chaos|fleet))?\./, attacks: /^dispatch / },
  apps: { files: /^(idle-)?apps\./, attacks: /^apps / },
}

function wingOf(name: string, by: 'files' | 'attacks'): Wing {
  const found = Object.entries(others).find(([, patterns]) => patterns[by].test(name))
  return found ? (found[0] as Wing) : 'labs'
}

/** Those of the names of files in `test/integration/faults` that have the wing's attacks. */
export const filesOf = (wing: Wing, names: readonly string[]): string[] =>
  names.filter(name => name.endsWith('.test.ts') && wingOf(name, 'files') === wing)

/** Whether an attack of this name, or one whose name begins so, belongs to the wing. */
export const hasAttack = (wing: Wing, name: string): boolean => wingOf(name, 'attacks') === wing
