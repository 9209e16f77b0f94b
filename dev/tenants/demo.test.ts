import { expect, it } from 'vitest'
import { expectAnswers } from './demo.ts'
import { formatTenantGuide } from './guide.ts'
import { typed } from './steps.ts'

const answers = { ada: [true, false], grace: [false, false], max: [false, true] }

it('expectAnswers fails when somebody may more, or less, than declared', () => {
  expectAnswers(answers, { ada: 'y.', grace: '..', max: '.y' })
  expect(() => expectAnswers(answers, { ada: 'y.', grace: '..', max: '..' })).toThrow(
    'max may .y, where .. was declared',
  )
  expect(() => expectAnswers(answers, { ada: 'yy', grace: '..', max: '.y' })).toThrow('ada may y.')
})

it('typed shows a command with the name of who types it, and each line of the answer', () => {
  expect(typed('ada', 'kubectl get lns', { text: 'NAME\nblue' })).toBe('  ada$ kubectl get lns\n  NAME\n  blue')
  expect(typed('ada', 'kubectl apply', { text: '' })).toBe('  ada$ kubectl apply')
})

it('formatTenantGuide names REST, the kubeconfigs and the plugins', () => {
  const one = (name: string) => ({ token: `${name}-1`, kubeconfig: `/run/${name}.kubeconfig` })
  const people = { ada: one('ada'), grace: one('grace'), max: one('max') }
  const report = { url: 'http://127.0.0.1:1', kubeconfig: '/run/admin', people, namespace: 'blue' }
  const places = { tools: { program: (name: string) => `/bin/of/${name}` }, plugins: '/plugins' }
  const guide = formatTenantGuide(report, places)
  expect(guide).toMatch(/^REST +http:\/\/127\.0\.0\.1:1\/tenants\/v1$/m)
  expect(guide).toContain('export PATH=/plugins:/bin/of:$PATH')
  for (const name of ['ada', 'grace', 'max']) expect(guide).toContain(`export KUBECONFIG=/run/${name}.kubeconfig`)
  expect(guide).toContain("'Authorization: Bearer max-1'")
})
