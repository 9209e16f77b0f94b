/** LNamespaces that the definition refuses by itself, in words that name the field. */
import { group, lnamespace, user } from '../../kit/tenants/objects.ts'
import { make } from '../../kit/tenants/site.ts'
import { labels, many, robot } from './people.cases.ts'
import type { Case } from './world.ts'

export const malformed: readonly Case[] = [
  {
    title: 'a name with dots',
    by: 'eve',
    ask: () => make(lnamespace('a.b')),
    words: 'metadata.name becomes the name of a namespace',
  },
  { title: 'a name of 64 characters', by: 'eve', ask: () => make(lnamespace('a'.repeat(64))), words: 'at most 63 of' },
  {
    title: '501 users',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: many(501) })),
    words: 'spec.users: Too many: 501',
  },
  {
    title: '501 sudoers',
    by: 'eve',
    ask: () => make(lnamespace('new', { sudoers: many(501) })),
    words: 'spec.sudoers: Too many',
  },
  ...(['users', 'managers', 'sudoers'] as const).map(list => ({
    ...{ title: `a system: user in ${list}`, by: 'eve' as const, words: `spec.${list}[0].name` },
    ask: () => make(lnamespace('new', { [list]: [user('system:admin')] })),
  })),
  {
    title: 'a system: group',
    by: 'eve',
    ask: () => make(lnamespace('new', { managers: [user('ada'), group('system:authenticated')] })),
    words: 'spec.managers[1].name',
  },
  {
    title: 'control characters',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('a\nb')] })),
    words: 'control characters',
  },
  {
    title: 'invisible characters',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('a\u202eb')] })),
    words: 'invisible ones',
  },
  {
    title: 'an empty name',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('')] })),
    words: 'spec.users[0].name',
  },
  {
    title: 'a name of 257 characters',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('a'.repeat(257))] })),
    words: 'Too long',
  },
  {
    title: 'a subject twice',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('a'), user('a')] })),
    words: 'Duplicate value',
  },
  {
    title: 'a group as sudoer',
    by: 'eve',
    ask: () => make(lnamespace('new', { sudoers: [group('a')] })),
    words: 'sudoers are people',
  },
  {
    title: 'a ServiceAccount as sudoer',
    by: 'eve',
    ask: () => make(lnamespace('new', { sudoers: [robot] })),
    words: 'spec.sudoers[0].kind',
  },
  {
    title: 'a ServiceAccount without a namespace',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [{ ...robot, namespace: '' }] })),
    words: 'spec.users[0].namespace',
  },
  {
    title: 'a person with a namespace',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [{ ...user('a'), namespace: 'b' }] })),
    words: 'spec.users[0].namespace',
  },
  {
    title: 'sudo for nine hours',
    by: 'eve',
    ask: () => make(lnamespace('new', { sudo: { maxSeconds: 32_400 } })),
    words: 'spec.sudo.maxSeconds',
  },
  {
    title: 'a key of billing in capitals',
    by: 'eve',
    ask: () => make(lnamespace('new', { billing: { COST: 'x' } })),
    words: 'keys of billing',
  },
  {
    title: 'a revision that is no label',
    by: 'eve',
    ask: () => make(lnamespace('new', { istioRevision: 'a b' })),
    words: 'istioRevision',
  },
  {
    title: 'a label that is none',
    by: 'eve',
    ask: () => make(lnamespace('new', labels('a b'))),
    words: 'namespaceLabelOverrides',
  },
  {
    title: 'a quota that is no quantity',
    by: 'olga',
    ask: () => make(lnamespace('new', { platform: { quota: { pods: 'many' } } })),
    words: 'spec.platform.quota',
  },
]
