/** The script of a machine's first start. Pure. */

/** Puts the machine's secret where Arvados' images expect it, readable for root alone; then comes the operator's own. */
export function initCommand(secret: string, own: string): string {
  if (!/^[0-9a-f]+$/.test(secret)) throw new Error('a secret of a machine is not hexadecimal')
  const keep = `umask 077 && mkdir -p /var/run && printf %s '${secret}' > /var/run/arvados-instance-secret && umask 022`
  return own === '' ? `${keep}\n` : `${keep}\n${own}\n`
}
