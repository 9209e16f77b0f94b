/** The wings that may stand beside labs, each alone and all at once: what a half has, and the option that asks for it. */

export const allWings = ['tenants', 'apps', 'dispatch', 'idle'] as const
export type Wing = (typeof allWings)[number]

export const besideNames = [...allWings, 'all'] as const
export type BesideName = (typeof besideNames)[number]

interface Beside {
  readonly flag: keyof typeof flags
  readonly wings: readonly Wing[]
}

const flag = { type: 'boolean', default: false } as const

/** For `parseArgs`. */
export const flags = {
  'with-tenants': flag,
  'with-apps': flag,
  'with-dispatch': flag,
  idle: flag,
  'with-all': flag,
} as const

/** By the name that a half has in the result. */
export const besides: Readonly<Record<BesideName, Beside>> = {
  tenants: { flag: 'with-tenants', wings: ['tenants'] },
  apps: { flag: 'with-apps', wings: ['apps'] },
  dispatch: { flag: 'with-dispatch', wings: ['dispatch'] },
  idle: { flag: 'idle', wings: ['idle'] },
  all: { flag: 'with-all', wings: allWings },
}
