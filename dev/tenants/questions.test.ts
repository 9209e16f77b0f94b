import { describe, expect, it } from 'vitest'
import type { Person, Printed } from './people.ts'
import { ask, may, questionsAbout, renderTable } from './questions.ts'

const questions = [
  { words: 'start pods', canI: ['create', 'pods'] },
  { words: 'read', canI: ['get', 'secrets'] },
]
const person = (name: Person['name'], answer: (words: string) => Printed): Person => ({
  ...{ name, token: '', kubeconfig: '' },
  kubectl: async (...args) => answer(args.join(' ')),
})
const [yes, no] = [
  { succeeded: true, text: 'yes' },
  { succeeded: false, text: '' },
]

describe('ask', () => {
  it('asks each person each question, by kubectl', async () => {
    const asked: string[] = []
    const people = Object.fromEntries(
      (['ada', 'grace', 'max'] as const).map(name => [
        name,
        person(name, words => {
          asked.push(words)
          return name === 'ada' && words.includes('pods') ? yes! : no!
        }),
      ]),
    ) as Parameters<typeof ask>[0]
    expect(await ask(people, questions)).toEqual({ ada: [true, false], grace: [false, false], max: [false, false] })
    expect(asked).toHaveLength(6)
    expect(asked).toContain('auth can-i create pods')
  })
})

describe('may', () => {
  it('takes a warning for no answer of its own', async () => {
    const warned = { succeeded: false, text: 'Warning: resource namespaces is not namespace scoped' }
    expect(
      await may(
        person('ada', () => warned),
        questions[0]!,
      ),
    ).toBe(false)
  })

  it('fails when kubectl cannot ask', async () => {
    const away = { succeeded: false, text: 'Unable to connect to the server' }
    await expect(
      may(
        person('ada', () => away),
        questions[0]!,
      ),
    ).rejects.toThrow(/create pods as ada: Unable/)
  })
})

describe('renderTable', () => {
  it('has a row for each question, and an arrow where an answer has changed', () => {
    const before = { ada: [true, true], grace: [false, false], max: [false, false] }
    const now = { ada: [false, true], grace: [true, false], max: [false, false] }
    expect(renderTable(questions, now, before).split('\n')).toEqual([
      '  may         ada    grace  max',
      '  start pods  no  ←  yes ←  no',
      '  read        yes    no     no',
    ])
    expect(renderTable(questions, now)).not.toContain('←')
  })
})

describe('questionsAbout', () => {
  it('asks of the namespace, and of others', () => {
    const asked = questionsAbout('blue').map(({ canI }) => canI.join(' '))
    expect(asked).toContain('create pods -n blue')
    expect(asked).toContain('create pods -n default')
    expect(asked).toContain('impersonate groups/blue-sudoers')
  })
})
