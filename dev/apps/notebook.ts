/** A pod of the group in the cluster, such as a notebook: it reaches apps by the names of their Services. */
import { groupLabel } from '../../src/apps/names.ts'
import { appLabels } from '../../src/apps/words.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { group, groupNamespace } from './people.ts'

const name = 'notebook'

/** Logs a run at each server, with MLflow's own client, and reads it back. */
const program = `
import sys, mlflow
for server in sys.argv[1:]:
    mlflow.set_tracking_uri(server)
    mlflow.set_experiment("galaxies")
    with mlflow.start_run(run_name="first light"):
        mlflow.log_metric("chi2", 0.97)
    runs = mlflow.search_runs(experiment_names=["galaxies"], output_format="list")
    print(server, [(run.info.run_name, run.data.metrics) for run in runs])
`

/** Runs the program in a pod of the group; resolves with what it prints. */
export async function logRuns(kubectl: Kubectl, image: string, servers: readonly string[]): Promise<readonly string[]> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: groupNamespace, labels: { [appLabels.group]: groupLabel(group) } },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: [{ name, image, command: ['python', '-c', program, ...servers] }],
    },
  }
  const place = ['pod', name, '-n', groupNamespace]
  await kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(pod) })
  try {
    const ended = '--for=jsonpath={.status.containerStatuses[0].state.terminated.reason}'
    await kubectl(['wait', ended, `pod/${name}`, '-n', groupNamespace, '--timeout=180s'])
    const log = await kubectl(['logs', name, '-n', groupNamespace])
    const lines = log.split('\n').filter(line => servers.some(server => line.startsWith(`${server} `)))
    if (lines.length !== servers.length) throw new Error(`a pod of the group could not use MLflow: ${log.trim()}`)
    return lines
  } finally {
    await kubectl(['delete', ...place, '--wait=false'])
  }
}
