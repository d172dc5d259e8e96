/**
 * What a load needs, by figures of one's own: `npm run simulate -- --requests 100000 --reads 0.9 --rows 1e9`.
 * Source: docs/scaling.md.
 */
import { describePlan } from './describe-plan.js'
import { readFigures } from './read-figures.js'

const read = readFigures(process.argv.slice(2))
if ('text' in read) {
  console.log(read.text)
  process.exitCode = read.failed ? 1 : 0
} else {
  console.log(describePlan(read))
}
