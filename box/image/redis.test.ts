import { expect, test } from 'vitest'
import { librariesOf } from './redis.ts'

test('libraries are read from what ldd says, the loader too, and not the one that is in the kernel', () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007ffd5d9f2000)',
    '\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1f1a1d6000)',
    '\tlibmissing.so.1 => not found',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f1f1a6f1000)',
    '',
  ].join('\n')
  expect(librariesOf(output)).toEqual(['/lib/x86_64-linux-gnu/libm.so.6', '/lib64/ld-linux-x86-64.so.2'])
})
