/** The rights of each person, as a table of yes and no. */
import type { Name, Person } from './people.ts'

export interface Question {
  /** For a person who reads the table. */
  readonly words: string
  /** Arguments of `kubectl auth can-i`. */
  readonly canI: readonly string[]
}

/** By person, for each question in order. */
export type Answers = Readonly<Record<Name, readonly boolean[]>>

/** @param namespace of the tenant */
export const questionsAbout = (namespace: string): readonly Question[] => [
  { words: `see pods in ${namespace}`, canI: ['get', 'pods', '-n', namespace] },
  { words: `start pods in ${namespace}`, canI: ['create', 'pods', '-n', namespace] },
  { words: `read Secrets of ${namespace}`, canI: ['get', 'secrets', '-n', namespace] },
  { words: `change who may do what in ${namespace}`, canI: ['patch', `lnamespaces/${namespace}`] },
  { words: `become root of ${namespace} (sudo)`, canI: ['impersonate', `groups/${namespace}-sudoers`] },
  { words: 'read Secrets of kube-system', canI: ['get', 'secrets', '-n', 'kube-system'] },
  { words: 'start pods elsewhere', canI: ['create', 'pods', '-n', 'default'] },
]

/** Asks the API server, with each person's own token. */
export async function ask(people: Readonly<Record<Name, Person>>, questions: readonly Question[]): Promise<Answers> {
  const rows = Object.values(people).map(async person => {
    const answers = questions.map(question => may(person, question))
    return [person.name, await Promise.all(answers)] as const
  })
  return Object.fromEntries(await Promise.all(rows)) as Record<Name, boolean[]>
}

/** @throws with kubectl's message when it has no answer */
export async function may(person: Person, { canI }: Question): Promise<boolean> {
  const { succeeded, text } = await person.kubectl('auth', 'can-i', ...canI)
  // It says `no` by its exit code too.
  if (succeeded || text === '' || /^Warning: [^\n]*$/.test(text)) return succeeded
  throw new Error(`kubectl auth can-i ${canI.join(' ')} as ${person.name}: ${text}`)
}

/** A line for each question; answers that differ from `before` have an arrow. */
export function renderTable(questions: readonly Question[], answers: Answers, before?: Answers): string {
  const people = Object.keys(answers) as Name[]
  const width = Math.max(...questions.map(({ words }) => words.length))
  const cell = (name: Name, row: number) => {
    const [is, was] = [answers[name][row], before?.[name][row]]
    return `${is ? 'yes' : 'no '}${was === undefined || was === is ? '  ' : ' ←'}`
  }
  const line = (head: string, cells: readonly string[]) => `  ${head.padEnd(width)}  ${cells.join('  ')}`.trimEnd()
  return [
    line(
      'may',
      people.map(name => name.padEnd(5)),
    ),
    ...questions.map(({ words }, row) =>
      line(
        words,
        people.map(name => cell(name, row)),
      ),
    ),
  ].join('\n')
}
