/**
 * The rooms that each room of the house may import. A room is a folder; a row holds for the folders below it too, unless
 * they have a row of their own. Imports below one row are free, as long as they make no circle of folders.
 */
export const table: Readonly<Record<string, readonly string[]>> = {
  // Tools that every room needs, and data that exists before anything runs.
  'src/base': [],
  'src/config': ['src/base'],
  'src/telemetry': ['src/base', 'src/config', 'src/dispatch/census.ts'],
  'src/tls': ['src/base', 'src/telemetry'],
  // Clients of the servers that a replica asks.
  'src/kube': ['src/base', 'src/telemetry'],
  'src/kube/pods': ['src/base', 'src/kube'],
  'src/store': ['src/base', 'src/config', 'src/telemetry', 'src/labs', 'src/dispatch'],
  'src/leases': ['src/base', 'src/store'],
  'src/duties': ['src/base', 'src/leases'],
  'src/http': ['src/base'],
  'src/identity': ['src/base', 'src/config', 'src/telemetry'],
  // The rules of labs, without I/O.
  'src/labs': ['src/base', 'src/config', 'src/kube/labels.ts', 'src/kube/pods'],
  'src/form': ['src/base', 'src/config', 'src/labs', 'src/images/catalogue'],
  // The work: images, operations, and the end of what nobody uses.
  'src/images': [
    ...['src/base', 'src/config', 'src/telemetry', 'src/http', 'src/kube', 'src/store', 'src/leases', 'src/duties'],
  ],
  'src/idle': [
    ...['src/base', 'src/config', 'src/telemetry', 'src/http', 'src/kube', 'src/labs', 'src/store', 'src/leases'],
    'src/duties',
  ],
  'src/ops': [
    'src/base',
    'src/config',
    'src/telemetry',
    'src/kube',
    'src/labs',
    'src/store',
    'src/leases',
    'src/duties',
  ],
  // Carries out the wishes of custom resources.
  'src/reconcile': ['src/base', 'src/telemetry', 'src/kube', 'src/leases'],
  // The rules of tenants, without I/O.
  'src/tenants': ['src/base', 'src/config', 'src/kube', 'src/reconcile'],
  // Sudo with an end, which people ask for by REST, and the events of tenants.
  'src/sudo': ['src/base', 'src/config', 'src/telemetry', 'src/kube', 'src/store', 'src/reconcile', 'src/tenants'],
  // The bills of tenants: what is compared and sent, and how each database is written.
  'src/billing': [
    ...['src/base', 'src/telemetry', 'src/http', 'src/kube', 'src/store', 'src/leases', 'src/duties'],
    // Tokens of Google, and HTTP with patience.
    ...['src/images/registry', 'src/tenants/billing.ts', 'src/config/billing.ts'],
  ],
  // The rules of apps, without I/O.
  'src/apps': ['src/base', 'src/config', 'src/kube', 'src/kube/pods', 'src/reconcile', 'src/tenants/words.ts'],
  // The work of replicas of apps beside their objects: tables that gateways follow, and starts and stops that others ask for.
  'src/appwork': [
    ...['src/base', 'src/telemetry', 'src/kube', 'src/store', 'src/leases', 'src/duties', 'src/reconcile', 'src/apps'],
  ],
  // Apps by REST, and their events.
  'src/appcontrol': [
    ...[
      'src/base',
      'src/config',
      'src/telemetry',
      'src/kube',
      'src/kube/pods',
      'src/store',
      'src/reconcile',
      'src/apps',
    ],
  ],
  // Carries requests of people to apps.
  'src/gateway': [
    'src/base',
    'src/config',
    'src/telemetry',
    'src/http',
    'src/tls',
    'src/identity',
    'src/store',
    'src/apps',
  ],
  // Clients of clouds, and of their machines.
  'src/ssh': ['src/base', 'src/telemetry'],
  'src/clouds': [
    ...['src/base', 'src/telemetry', 'src/ssh/new-key.ts', 'src/config/dispatch-ec2.ts'],
    // A machine that ends takes its control groups along; one of loopback must remove them.
    ...['src/runner/engines/end-groups.ts', 'src/runner/state/machine-id.ts'],
  ],
  // The rules of containers on machines of a cloud, and the words of these machines, without I/O of their own.
  'src/dispatch': ['src/base', 'src/config'],
  // The program on such a machine: it starts often, and loads nothing of the controller.
  'src/runner': [
    ...['src/base', 'src/dispatch/protocol.ts', 'src/dispatch/lines.ts', 'src/dispatch/tunnel.ts'],
    ...['src/ssh/new-key.ts', 'src/ssh/quoted.ts'],
  ],
  // The machines of a cloud, each as one long operation.
  'src/machines': [...['src/base', 'src/telemetry', 'src/store', 'src/ops', 'src/dispatch', 'src/clouds', 'src/ssh']],
  // One machine from its creation to its end, to test a cloud and an image; by the pieces of keepers, without Redis.
  'src/cloudtest': ['src/base', 'src/dispatch', 'src/clouds', 'src/ssh', 'src/machines'],
  // Decides for all replicas, by lease: who gets which machine, and what the cloud has that no record knows.
  'src/pool': ['src/base', 'src/telemetry', 'src/store', 'src/leases', 'src/duties', 'src/dispatch', 'src/clouds'],
  // The HTTP API, and the processes.
  'src/arvados': [
    ...['src/base', 'src/telemetry', 'src/http', 'src/store', 'src/leases', 'src/duties', 'src/dispatch'],
  ],
  'src/containers': ['src/base', 'src/telemetry', 'src/store', 'src/dispatch'],
  // Shells and ports of running containers, carried by the pump of the gateway.
  'src/tunnel': ['src/base', 'src/telemetry', 'src/dispatch', 'src/containers', 'src/gateway'],
  'src/api': [
    ...['src/base', 'src/config', 'src/telemetry', 'src/tls', 'src/http', 'src/identity', 'src/labs', 'src/form'],
    ...['src/images/catalogue', 'src/ops', 'src/tenants', 'src/sudo', 'src/idle', 'src/apps', 'src/appcontrol'],
    ...['src/dispatch', 'src/containers', 'src/tunnel'],
  ],
  'src/settings': [
    'src/base',
    'src/config',
    'src/identity',
    'src/labs',
    'src/apps/shares.ts',
    'src/tls',
    'src/tenants/vetting/state.ts',
    'src/billing/places.ts',
  ],
  'src/cli': ['src'],
  'src/run': ['src'],
  'src/main.ts': ['src'],
  // Programs of users, for a shell without any of the others.
  plugins: [],
  // Development: programs, the parts that they start, and the tests.
  'dev/process': ['src/base'],
  'dev/redis': ['src/store', 'dev/process'],
  'dev/postgres': ['dev/process'],
  'dev/setup': ['dev/process', 'dev/redis', 'dev/postgres'],
  'dev/image': ['src/base', 'src/images', 'dev/process', 'dev/setup'],
  'dev/kube': ['src', 'dev/process', 'dev/setup'],
  'dev/node': ['dev/process', 'dev/setup', 'dev/kube', 'dev/image'],
  'dev/run': ['dev/process', 'dev/node'],
  'dev/cluster': ['dev/process', 'dev/setup', 'dev/kube', 'dev/node', 'dev/run'],
  'dev/stack': ['src', 'dev/process', 'dev/redis', 'dev/setup', 'dev/image', 'dev/kube', 'dev/run', 'dev/cluster'],
  'dev/cloud': ['src/base', 'src/config', 'dev/process', 'dev/setup', 'dev/image'],
  dev: ['src', 'dev', 'test/kit', 'docs'],
  'test/kit': ['src', 'dev'],
  test: ['src', 'dev', 'test'],
  bench: ['src', 'dev', 'test/kit'],
}
