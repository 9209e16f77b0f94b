/** The reference of metrics, for people: a table made from the registry that a replica serves. */
import type { Registry } from 'prom-client'

const head = `# Metrics

Served in Prometheus' text format at \`/metrics\` of each replica. Labels come from short lists, never from users. Beside
these there is what Node tells of its process (\`process_*\`, \`nodejs_*\`). What to do with them:
[operations.md](operations.md). This page is made from the code: \`npm run unit -- src/telemetry/reference -u\`.

| name | type | labels | what |
|---|---|---|---|
`

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Of our own metrics, by name. */
export async function metricsReference(registry: Registry): Promise<string> {
  const rows = registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('skylab_'))
    .map(metric => ({ ...metric, labels: (metric as unknown as { labelNames: readonly string[] }).labelNames }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, labels, help, ...metric }) => {
      const { type } = metric as unknown as { type: string }
      return `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${cell(help)} |\n`
    })
  return head + rows.join('')
}
