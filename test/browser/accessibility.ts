/** Checks pages with axe: in light, in dark, and at the width of a phone. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

async function runAxe(page: Page): Promise<readonly Violation[]> {
  await page.evaluate(axe)
  // Off by default, although WCAG 2.2 AA requires it.
  const options = "{ rules: { 'target-size': { enabled: true } } }"
  return await page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations)`)
}

/** Every violation of the page as it is shown, with its element, and whether the page is wider than the window. */
export async function findProblems(page: Page): Promise<string[]> {
  const violations = await runAxe(page)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  return [
    ...violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`),
    ),
    ...(overflow > 0 ? [`the page is ${overflow} pixels wider than the window`] : []),
  ]
}

/** The critical and serious problems of the page as it is shown: rule, and the first element. */
export async function seriousProblems(page: Page): Promise<unknown> {
  const violations = await runAxe(page)
  return violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious')
    .map(({ id, nodes }) => [id, nodes.length, nodes[0]?.html, nodes[0]?.failureSummary])
}

/** Fails if axe finds a violation, or if the page is wider than the window. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  expect({ view, problems: await findProblems(page) }).toEqual({ view, problems: [] })
}

/** Colour schemes, and widths in pixels of a computer and of a phone. */
export const displays = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 375],
  ['dark', 375],
] as const

/** Runs a check in light and dark, in windows of a phone and of a computer. The page stays light and wide. */
export async function forEachDisplay(
  page: Page,
  check: (display: string) => Promise<void>,
): Promise<void> {
  for (const [colorScheme, width] of displays.toReversed()) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 844 })
    await check(`${colorScheme}, ${width} px`)
  }
}
