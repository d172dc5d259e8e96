/** Accessibility problems that axe finds in a page. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The critical and serious problems of the page as it is shown: rule, and the first element. */
export async function seriousProblems(page: Page): Promise<unknown> {
  await page.evaluate(axe)
  return page.evaluate(`axe.run(document).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious')
    .map(({ id, nodes }) => [id, nodes.length, nodes[0].html, nodes[0].failureSummary]))`)
}
