import { expect, test } from 'vitest'
import { appsObjects } from './apps.ts'

interface Rule {
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

test('the account of apps may make Secrets, and neither read nor change any', async () => {
  const role = (await appsObjects()).find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'skylab-apps',
  )!
  const rules = (role as unknown as { rules: readonly Rule[] }).rules
  const ofSecrets = rules.filter(({ resources }) => resources.some(each => each === '*' || each.startsWith('secrets')))
  expect(ofSecrets.map(({ verbs }) => verbs)).toEqual([['create']])
})
