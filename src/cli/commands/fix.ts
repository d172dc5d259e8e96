/** `filigree fix`: replaces mistyped names in the sources by the names that the start report suggests. */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { planApplication } from '../../bootstrap/plan-application.js'
import { asProblems, DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { defineCommand, flag, moduleFileOf, moduleOption, type Terminal } from '../command.js'
import { toJson } from '../output.js'
import { createPaint, type Paint } from '../../core/paint.js'
import { indexSources } from '../describe-error.js'
import { loadApplication } from '../load-application.js'
import { toPosix, isSource } from '../project-files.js'
import type { SourceIndex, SourceLocation } from '../problem-location.js'

export const fixCommand = defineCommand({
  group: 'Check',
  usage: 'filigree fix [file]',
  summary: 'corrects mistyped names that the start report suggests',
  description: `Reads the problems that stop the application from starting, and replaces each name for which the report suggests another: "Did you mean …?".
A name is replaced only if its location in the sources is certain. Problems that remain are printed, and the exit code is 1.
Correcting names can reveal further problems: run the command again.`,
  options: {
    'dry-run': flag('prints the changes without writing them'),
    module: moduleOption,
    json: flag('prints { fixed, remaining }'),
  },
  examples: ['filigree fix --dry-run', 'filigree fix && filigree doctor'],
  run: async (args, terminal) => {
    const { values } = args
    const file = moduleFileOf(args)
    const { problems, path } = await findProblems(file, terminal)
    const index = indexSources(terminal.cwd, isSource(path) ? path : undefined)
    const fixes = new Map<Problem, Fix>()
    for (const problem of problems) {
      const fix = index && findFix(problem, index)
      if (fix !== undefined) fixes.set(problem, fix)
    }
    const unique = withoutDuplicates([...fixes.values()])
    if (!values['dry-run']) unique.forEach(applyFix)
    const remaining = problems.filter((problem) => !fixes.has(problem))
    const fixed = unique.map((fix) => ({ ...fix, file: toPosix(relative(terminal.cwd, fix.file)) }))
    const paint = createPaint(terminal.hasColours)
    await terminal.out(values.json ? toJson({ fixed, remaining }) : toText(fixed, remaining, paint))
    return remaining.length === 0
  },
})

interface Fix {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly from: string
  readonly to: string
}

/** Loads and plans the application. Decorators can throw while it is loaded, the other problems are found by the plan. */
async function findProblems(
  named: string | undefined,
  terminal: Terminal,
): Promise<{ readonly problems: readonly Problem[]; readonly path: string }> {
  let path = ''
  const loadSources = async (file: string): Promise<void> => {
    path = file
    await terminal.loadSources?.(file)
  }
  try {
    const application = await loadApplication(named, { ...terminal, loadSources })
    path = application.path
    await planApplication(application.module, { ...application.options, logger: false })
    return { problems: [], path }
  } catch (error) {
    if (error instanceof DeclarationError) return { problems: asProblems(error.problems), path }
    throw error
  }
}

/** @returns undefined if the report suggests no name, or the message does not lead to the mistyped name in the sources */
function findFix(problem: Problem, index: SourceIndex): Fix | undefined {
  const { message, remedy } = problem
  const to = /Did you mean "([^"]+)"\?/.exec(`${message} ${remedy}`)?.[1]
  if (to === undefined) return undefined
  const location = index.locate(problem)
  if (location === undefined) return undefined
  const from = markedText(location)
  // The location can be the class, if the name itself was not found.
  const isQuoted = [`"${from}"`, `'${from}'`, `\`${from}\``].some((text) => message.includes(text))
  const { file, line, column } = location
  return isQuoted && from !== to ? { file, line, column, from, to } : undefined
}

function markedText({ lines, line, column, length }: SourceLocation): string {
  return (lines[line - 1] ?? '').slice(column - 1, column - 1 + length)
}

/** Several problems can have the same mistyped name. The last one of a line comes first, so that columns stay valid. */
function withoutDuplicates(fixes: readonly Fix[]): Fix[] {
  const byPosition = new Map(fixes.map((fix) => [`${fix.file}:${fix.line}:${fix.column}`, fix]))
  return [...byPosition.values()].sort(
    (a, b) => a.file.localeCompare(b.file) || a.line - b.line || b.column - a.column,
  )
}

function applyFix({ file, line, column, from, to }: Fix): void {
  const lines = readFileSync(file, 'utf8').split('\n')
  const text = lines[line - 1] ?? ''
  lines[line - 1] = text.slice(0, column - 1) + to + text.slice(column - 1 + from.length)
  writeFileSync(file, lines.join('\n'))
}

function toText(fixed: readonly Fix[], remaining: readonly Problem[], paint: Paint): string {
  if (fixed.length + remaining.length === 0) return 'There are no problems.\n'
  const changes = fixed.map(
    ({ file, line, column, from, to }) =>
      `${paint('cyan', `${file}:${line}:${column}`)} ${paint('red', from)} → ${paint('green', to)}\n`,
  )
  const rest = remaining.map(({ code, message, remedy }) =>
    `${paint('red', `error[${code}]:`)} ${message} ${remedy}`.trimEnd(),
  )
  const heading = rest.length === 0 ? '' : '\nTo be fixed by hand:\n'
  return changes.join('') + heading + rest.map((line) => `${line}\n`).join('')
}
