import { expect, test } from 'vitest'
import { isAtLeast, wrapGoMod } from './go.ts'

test('isAtLeast compares versions of Go as numbers, not as text', () => {
  expect(isAtLeast('go1.26.6\n', '1.26.0')).toBe(true)
  expect(isAtLeast('go1.26', '1.26.0')).toBe(true)
  expect(isAtLeast('go1.27rc1', '1.26.0')).toBe(true)
  expect(isAtLeast('go1.9.7', '1.26.0')).toBe(false)
  expect(isAtLeast('go2.0', '1.26.0')).toBe(true)
  expect(isAtLeast('', '1.26.0')).toBe(false)
})

const original = `module example.invalid/one

go 1.26.0

require example.invalid/two v1.0.0

replace (
	example.invalid/two => example.invalid/fork v1.2.3 // a reason
	k8s.io/api => ./staging/src/k8s.io/api
	example.invalid/local => ../local
)

replace example.invalid/three => example.invalid/other v3.0.0
`

test("wrapGoMod repeats replacements, and maps the module's folders to published modules or leaves them out", () => {
  const lines = wrapGoMod({ label: 'one', path: 'example.invalid/one', version: 'v1.36.3' }, original)
    .split('\n')
    .filter(line => line !== '')
  expect(lines).toEqual([
    'module skylab.invalid/one',
    'go 1.26.0',
    'require example.invalid/one v1.36.3',
    'replace example.invalid/two => example.invalid/fork v1.2.3',
    'replace k8s.io/api => k8s.io/api v0.36.3',
    'replace example.invalid/three => example.invalid/other v3.0.0',
  ])
})
