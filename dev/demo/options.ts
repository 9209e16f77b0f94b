/** The command line of the demo. */
import { parseArgs } from 'node:util'
import type { ClusterChoice } from '../cluster/types.ts'
import { UsageError } from '../process/program.ts'
import { type HubVersion, hubVersions } from '../setup/jupyterhub.ts'

export const usage = `usage: npm run demo -- [OPTIONS]

  --once              delete the lab again, check that nothing of it is left, and end
  --json              print one line of JSON on stdout once all is up (with --once: at the end)
  --replicas N        replicas of the controller (default 3)
  --users N           users with tokens, at least ada, grace and admin (default 3)
  --keep-lab          leave the lab when the demo ends
  --no-lab            start the stack only
  --kwok N            send labs to N nodes of KWOK, which only pretend to run them; no image is built
  --in-cluster        build the image, and run replicas, Redis and names as pods of the cluster (needs a real node)
  --hub               a JupyterHub before it, to log in to with a browser (needs a real node)
  --tenants           people make namespaces and become root of them; with --in-cluster: install tenants too
  --notebooks         with --in-cluster: install notebooks too, and leave a StatefulSet alone until it is stopped
  --idle              five labs are left alone: those that nobody uses end (needs a real node); with --hub through a Hub
  --apps              MLflow and Streamlit for a group, with a browser, through two gateways (needs a real node);
                      with --in-cluster: install apps and gateways too
  --dispatch          twelve containers on machines of a cloud that is this host: no cluster, no root;
                      with --in-cluster: install dispatch too, and run a container on a machine of a test cloud
  --all               everything at once, on one cluster: a tenant with an app, a lab, a container on a machine, their
                      idleness, and one bill (needs a real node)
  --hub-version N     its major version, 5 or 6 (default 6)
  --rollout N         with --in-cluster and --once: replace all replicas while N labs are created on KWOK
  --kubeconfig FILE   use this cluster instead of one in a box
  --context NAME      use this context of the kubeconfig
`

export interface DemoOptions {
  readonly once: boolean
  readonly json: boolean
  readonly replicas: number
  readonly users: number
  readonly keepLab: boolean
  readonly lab: boolean
  /** Whether the controller runs in the cluster, installed by the overlay `demo`. */
  readonly inCluster: boolean
  /** The version of JupyterHub in front of it; null for none. */
  readonly hub: HubVersion | null
  /** Whether people make namespaces, instead of labs; in the cluster, beside labs. */
  readonly tenants: boolean
  /** Whether notebooks are installed too, in the cluster. */
  readonly notebooks: boolean
  /** Whether labs are left alone until those that nobody uses end. */
  readonly idle: boolean
  /** Whether a group has apps, instead of labs; in the cluster, beside labs. */
  readonly apps: boolean
  /** Whether containers run on machines of a cloud, instead of labs; in the cluster, beside labs. */
  readonly dispatch: boolean
  /** Whether everything is shown on one cluster. */
  readonly all: boolean
  /** Number of labs created while all replicas are replaced; 0 for no rollout. */
  readonly rollout: number
  /** The cluster. With a real node it gets one node of KWOK too, for machines that cannot have a real one. */
  readonly cluster: Omit<ClusterChoice, 'audit'>
}

/** @throws {UsageError} */
export function parseOptions(args: readonly string[]): DemoOptions {
  const values = parse(args)
  refuseMixtures(values)
  const kwok = values.kwok === undefined ? undefined : count('kwok', values.kwok)
  return {
    once: values.once,
    json: values.json,
    replicas: count('replicas', values.replicas),
    users: count('users', values.users),
    keepLab: values['keep-lab'],
    lab: !values['no-lab'],
    inCluster: values['in-cluster'],
    hub: values.hub ? hubVersion(values['hub-version'] ?? '6') : null,
    tenants: values.tenants,
    notebooks: values.notebooks,
    idle: values.idle,
    apps: values.apps,
    dispatch: values.dispatch,
    all: values.all,
    rollout: values.rollout === undefined ? 0 : count('rollout', values.rollout),
    cluster: {
      kubeconfig: values.kubeconfig,
      context: values.context,
      realNode: kwok === undefined ? 'auto' : 'never',
      kwok: kwok ?? 1,
    },
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const number = { type: 'string', default: '3' } as const
  const text = { type: 'string' } as const
  const options = {
    ...{ once: flag, json: flag, 'keep-lab': flag, 'no-lab': flag, 'in-cluster': flag, rollout: text },
    ...{
      hub: flag,
      'hub-version': text,
      tenants: flag,
      notebooks: flag,
      idle: flag,
      apps: flag,
      dispatch: flag,
      all: flag,
    },
    ...{ replicas: number, users: number, kwok: text, kubeconfig: text, context: text },
  }
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const ofClusters = ['kwok', 'kubeconfig', 'context'] as const
const shows = ['hub', 'tenants', 'notebooks', 'idle', 'apps', 'dispatch', 'in-cluster'] as const

/** Refuses options that an installation in the cluster takes from its manifests, or does not support. */
function refuseMixtures(values: ReturnType<typeof parse>): void {
  if (values.rollout !== undefined && !(values['in-cluster'] && values.once)) {
    throw new UsageError('--rollout: only with --in-cluster and --once')
  }
  if (values.notebooks && !values['in-cluster']) throw new UsageError('--notebooks: only with --in-cluster')
  if (values['hub-version'] !== undefined && !values.hub) throw new UsageError('--hub-version: only with --hub')
  if (values.hub && values.tenants) throw new UsageError('--tenants: not with --hub')
  for (const name of ['tenants', 'in-cluster', 'kwok', 'kubeconfig', 'context'] as const) {
    if (values.idle && values[name]) throw new UsageError(`--${name}: not with --idle`)
  }
  for (const name of ['hub', 'idle', 'tenants', 'kwok', 'kubeconfig', 'context'] as const) {
    if (values.apps && values[name] && !values['in-cluster']) throw new UsageError(`--${name}: not with --apps`)
  }
  for (const name of ['hub', 'idle', 'apps', 'tenants', 'no-lab', 'keep-lab', ...ofClusters] as const) {
    if (values.dispatch && values[name] && !values['in-cluster']) throw new UsageError(`--${name}: not with --dispatch`)
  }
  for (const name of [...shows, 'no-lab', 'keep-lab', ...ofClusters] as const) {
    if (values.all && values[name]) throw new UsageError(`--${name}: not with --all`)
  }
  const place = values.hub ? '--hub' : values['in-cluster'] ? '--in-cluster' : '--tenants'
  if (!values.hub && !values['in-cluster'] && !values.tenants) return
  if (values.hub && values['in-cluster']) throw new UsageError('--hub: not with --in-cluster')
  for (const name of ['kubeconfig', 'context', 'kwok'] as const) {
    if (values[name] !== undefined) throw new UsageError(`--${name}: not with ${place}`)
  }
}

function hubVersion(text: string): HubVersion {
  const version = hubVersions.find(each => String(each) === text)
  if (version === undefined) throw new UsageError(`--hub-version: ${hubVersions.join(' or ')}, not ${text}`)
  return version
}

function count(name: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new UsageError(`--${name}: a number from 1 to 9999, not ${text}`)
}
