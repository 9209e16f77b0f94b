/** The order of an operator's first day, and the pages that it leaves out. */

/**
 * At `mistakes` the mistakes of mistakes.ts are made and mended. At `labs` two users get labs, and at `labs run` these
 * still run. All other entries are pages, whose commands are run in order.
 */
export const plan = [
  'docs/deploy.md',
  'mistakes',
  'labs',
  'docs/operations.md',
  'docs/redis.md',
  'docs/upgrade.md',
  'labs run',
  'docs/uninstall.md',
] as const

/** The pages in the order of the day. */
export const plannedPages: readonly string[] = plan.filter(part => part.endsWith('.md'))

/** The users of the two labs; they do nothing else. */
export const usersWithLabs: readonly string[] = ['grace', 'user-004']

/** The page of mistakes has commands too: they run after each mistake. */
export const pagesOfTheDay: readonly string[] = [...plannedPages, 'docs/troubleshooting.md']

/** Headings whose commands run while users make labs. */
export const whileUsersWork: readonly string[] = ['docs/upgrade.md#roll-it-out']

/** Pages with commands for a cluster that the day does not run, and why. */
export const otherPages: Readonly<Record<string, string>> = {
  'docs/apps-operators.md': 'the demo of apps does the same; test/integration/apps/ has the label and the policy',
  'docs/apps.md': '`npm run demo -- --apps` has these apps, with images that it makes',
  'README.md': 'an overview: docs/deploy.md has its commands',
  'docs/argo-cd.md': 'needs Argo CD',
  'docs/audit.md': 'needs a collector of logs',
  'docs/commands.md': 'a reference; unit tests run these commands',
  'docs/dispatch-shell.md':
    'needs a container that runs: test/integration/dispatch/tunnel.test.ts opens shells in some',
  'docs/dispatch-tasks.md': 'needs machines of EC2: test/integration/dispatch/tasks.test.ts has some',
  'docs/from-kubespawner.md': 'needs a Zero to JupyterHub; its Job is a test of its own',
  'docs/gateway-login.md': 'needs a provider of identities',
  'docs/identity.md': 'needs a provider of identities',
  'docs/idle-notebooks.md': 'needs Kubeflow: test/integration/idle/ has a definition of Notebooks',
  'docs/prepulling.md': 'shows what fails; tests on a real node have such images',
  'docs/spawner.md': 'needs a JupyterHub: test/integration/zero-to-jupyterhub.test.ts has one',
  'docs/tenants-vetting.md': 'shows a cluster with other operators; test/integration/tenants/vetting.test.ts has one',
  'docs/tenants-webhook.md':
    'needs Kubernetes before 1.36; test/integration/tenants/webhook.test.ts has an API server that asks',
  'docs/tenants.md': 'needs Kubernetes 1.36 and people: test/integration/tenants/ has them',
  'docs/tls.md': 'needs cert-manager; the demo in the cluster has TLS',
}
