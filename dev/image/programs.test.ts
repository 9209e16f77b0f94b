import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms, librariesOf } from './programs.ts'

test("librariesOf reads the paths in the output of ldd, with the loader and without the kernel's library", () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007ffd5d9f2000)',
    '\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1f1a1d6000)',
    '\tlibmissing.so.1 => not found',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f1f1a6f1000)',
    '',
  ].join('\n')
  expect(librariesOf(output)).toEqual(['/lib/x86_64-linux-gnu/libm.so.6', '/lib64/ld-linux-x86-64.so.2'])
})

test('copyPrograms names a program that is not installed', async () => {
  const rootfs = await mkdtemp(join(tmpdir(), 'skylab-programs-'))
  const copied = copyPrograms(rootfs, { 'no-such-program': '/bin/no-such-program' })
  await expect(copied)
    .rejects.toThrow('there is no no-such-program on this machine')
    .finally(() => rm(rootfs, { recursive: true }))
})
