/** Makes docs/mistakes.md from the table that `npm test` tries. */
import { dependencies, type Row, rows } from '../../test/integration/mistakes/rows.ts'

const head = `# Mistakes in the settings of dependencies

*\`npm run docs\` makes this page from \`test/integration/mistakes/rows.ts\`. \`npm test -- --no-real-node mistakes\` makes every
mistake below on real servers, and checks every word.*

If a replica cannot use Redis, the Kubernetes API, the registry or the identity provider, it reports this in three places:

1. **The log**: one line at \`warn\` when the reason changes, and again every 5 minutes while it lasts. Its fields are \`reason\`,
   \`failures\` and \`forMs\`. One line at \`info\` follows when the dependency can be used again.
2. **\`/readyz\`**: a starting replica is not ready (503) until it can use Redis and the Kubernetes API. A ready replica stays
   ready, since no other replica could do better: \`troubles\` lists the dependencies that it cannot use.
3. **The API**: 503 with the same words, without the part in parentheses. Clients see no host and no address.
   Requests get the message about the Kubernetes API only until the first compare of the records.

No place shows a password, even if a server's message has one. \`…\` stands for words of the server or of the network library.
`

/** Text in a cell of Markdown. */
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
