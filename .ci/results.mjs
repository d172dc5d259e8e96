// Reads Jest's JSON results for `run`.
//   results.mjs failed FILE   prints the test files that failed; exit code 1 if there is none, or too many of them
//   results.mjs sum FOLDER    prints "N passed, N failed, N skipped" of quick.json, long.json, tools.json and slow.json, with *-again.json counted instead
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

// More failures than this are no accident of a busy machine.
const maxFailedFiles = 6
const [, , command, path] = process.argv

if (command === 'failed') {
  const files = failedFiles(read(path))
  if (files.length === 0 || files.length > maxFailedFiles) process.exit(1)
  console.log(files.map((file) => relative(process.cwd(), file)).join('\n'))
} else {
  const sum = { passed: 0, failed: 0, skipped: 0 }
  for (const name of ['quick', 'long', 'tools', 'slow']) add(sum, name)
  const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : ''
  console.log(`${sum.passed} passed, ${sum.failed} failed${skipped}`)
}

function add(sum, name) {
  const again = join(path, `${name}-again.json`)
  const first = read(join(path, `${name}.json`))
  const second = existsSync(again) ? read(again) : undefined
  const runs = first?.testResults ?? []
  // A run that ended before it wrote its results.
  if (first === undefined || (existsSync(again) && second === undefined)) sum.failed++
  const repeated = new Set(second?.testResults.map(({ name: file }) => file))
  for (const result of [
    ...runs.filter((run) => !repeated.has(run.name)),
    ...(second?.testResults ?? []),
  ]) {
    for (const { status } of result.assertionResults) {
      if (status === 'passed') sum.passed++
      else if (status === 'failed') sum.failed++
      else sum.skipped++
    }
    // A suite that cannot be loaded has no tests to count.
    if (result.status === 'failed' && result.assertionResults.length === 0) sum.failed++
  }
  for (const file of repeated)
    console.log(`Failed beside other files and ran again alone: ${relative(process.cwd(), file)}`)
}

function failedFiles(run) {
  return (run?.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name)
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
