/** Helm values as the chart of Zero to JupyterHub reads them, and the resulting settings of a Hub. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export type Values = { readonly [key: string]: unknown }

/** JupyterHub's configuration file: it reads the merged values from the file in `HELM_VALUES`. */
export const helmConfig = fileURLToPath(new URL('./helm_config.py', import.meta.url))

const example = new URL('../../../hub/examples/zero-to-jupyterhub/', import.meta.url)

/** A file of the example. */
export const readExample = (name: string) => parse(readFileSync(new URL(name, example), 'utf8'))

/** The chart's own values, if they reach a spawner. */
const chartValues: Values = {
  hub: {
    config: { JupyterHub: { admin_access: true, authenticator_class: 'dummy' } },
    concurrentSpawnLimit: 64,
    consecutiveFailureLimit: 5,
    allowNamedServers: false,
  },
  singleuser: { cmd: 'jupyterhub-singleuser', startTimeout: 300 },
  cull: { enabled: true, timeout: 3600, every: 600, maxAge: 0, concurrency: 10 },
}

/** The chart's values, the example's and a site's, merged as by Helm. */
export const valuesFor = (place: Values): Values =>
  [readExample('values.yaml') as Values, place].reduce<Values>(merge, chartValues)

/** Merges maps by key. Null removes a key; any other value replaces the old one. */
function merge(below: Values, above: Values): Values {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    if (value === null) delete merged[key]
    else merged[key] = isMap(merged[key]) && isMap(value) ? merge(merged[key], value) : value
  }
  return merged
}

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A container in the values: the fields that tests use. */
export interface Container {
  readonly name: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
}
