/** Finds the blocks of shell commands in the documentation, as they are written there. */

export interface Block {
  readonly page: string
  /** The nearest heading above, as links name it; empty before the first. */
  readonly heading: string
  /** The line of the page on which the block begins, from 1. */
  readonly line: number
  readonly lines: readonly string[]
  /** Why the day does not run it; null where the day does. */
  readonly excuse: string | null
}

export interface PageBlocks {
  readonly blocks: readonly Block[]
  /** One sentence, with the line, for each block of which it is unclear whether to run it. */
  readonly problems: readonly string[]
}

/** The first line of a block that the day does not run; readers of the page see it too. */
const excusePattern = /^# Not run by `npm run day`: (\S.*)$/
const likeAnExcuse = /^# *not (run|tried|tested)\b/i
const fencePattern = /^( *)```([\w-]*)\s*$/
/** A block without a language holds commands: the documentation names all other languages. */
const shellNames = ['', 'sh', 'bash', 'shell', 'console']
const otherNames = ['yaml', 'json', 'text', 'python', 'diff']

interface Fence {
  readonly line: number
  readonly indent: string
  readonly name: string
  readonly lines: string[]
}

export function readBlocks(page: string, text: string): PageBlocks {
  const blocks: Block[] = []
  const problems: string[] = []
  let heading = ''
  let open: Fence | null = null
  let former = ''
  for (const [index, line] of text.split('\n').entries()) {
    const fence = fencePattern.exec(line)
    if (open && fence) {
      const block = shellNames.includes(open.name) ? blockOf(page, heading, open) : null
      if (block) blocks.push(block)
      problems.push(...problemsOf(page, open, block))
      open = null
    } else if (open) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
    } else if (fence) {
      open = { line: index + 1, indent: fence[1]!, name: fence[2]!, lines: [] }
    } else {
      heading = /^#+ (.*)$/.test(line) ? anchorOf(line) : heading
      if (/^ {4}\S/.test(line) && (former.trim() === '' || former.startsWith('#'))) {
        problems.push(`${page}:${index + 1}: commands are fenced with backticks, not indented`)
      }
    }
    former = line
  }
  if (open) problems.push(`${page}:${open.line}: the block has no end`)
  return { blocks, problems }
}

/** A heading as links name it. */
function anchorOf(line: string): string {
  const words = line.replace(/^#+ /, '').toLowerCase()
  return words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
}

function blockOf(page: string, heading: string, { line, lines }: Fence): Block {
  const excuse = excusePattern.exec(lines[0] ?? '')?.[1] ?? null
  return { page, heading, line, lines, excuse }
}

function problemsOf(page: string, { line, name, lines }: Fence, block: Block | null): string[] {
  const at = `${page}:${line}`
  if (!block) return otherNames.includes(name) ? [] : [`${at}: unknown language: ${name}`]
  if (block.excuse !== null) return []
  const like = lines.find(each => likeAnExcuse.test(each))
  return like ? [`${at}: an excuse is the first line, as docs/testing.md has it, not "${like}"`] : []
}
