/** docs/mistakes.md, of the table that `npm test` tries. */
import { dependencies, type Row, rows } from '../../test/integration/mistakes/rows.ts'

const head = `# A dependency that is reached wrongly

*This page is made of \`test/integration/mistakes/rows.ts\` by \`npm run docs\`. \`npm test -- --no-real-node mistakes\` makes
every mistake below on real servers, and checks every word.*

A replica that cannot use Redis, the Kubernetes API, the registry or the identity provider says so in three places:

1. **The log**: one line at \`warn\` when the reason changes, and again every 5 minutes while it lasts. Its fields are \`reason\`,
   \`failures\` and \`forMs\`. One line at \`info\` when the dependency can be used again.
2. **\`/readyz\`**: a replica that has just started is not ready (503) until Redis and the Kubernetes API can be used. A replica
   that is ready stays so, since no other replica would fare better: \`troubles\` lists what cannot be used.
3. **The API**: 503 with the same words, without the part in parentheses. Clients learn no host and no address.
   Few requests need the Kubernetes API: they get its answer only until the records were compared for the first time.

No place shows a password, whatever a server says. \`…\` stands for words of the server or of the network library.
`

/** As Markdown has it in a cell. */
const cell = (text: string) => text.replaceAll('|', '\\|')

export function mistakesPage(): string {
  return [head, ...Object.keys(dependencies).map(name => sectionOf(name as Row['dependency']))].join('\n')
}

function sectionOf(dependency: Row['dependency']): string {
  const { name, trouble, over, waits, answer, settings } = dependencies[dependency]
  const place = waits ? `\`waiting for ${name}: <reason>\` with 503 at the start, later` : '200, and'
  const mistakes = rows.filter(row => row.dependency === dependency)
  return `## ${dependency}
- Log: \`${trouble}\`, then \`${over}\`.
- \`/readyz\`: ${place} \`troubles: ["${name}: <reason>"]\`.
- API: \`${answer}<words>\`.
- Look at: ${settings}.

| mistake | reason |
|---|---|
${mistakes.map(row => `| ${cell(row.mistake)} | ${cell(reasonOf(row))} |`).join('\n')}
`
}

const reasonOf = ({ reason, words }: Row) => reason.replace('WORDS', `**${words}**`).replaceAll('HOST', '`host:port`')
