/**
 * The page that a browser gets in place of a response that failed: the request's view of the development page. It shows the
 * error and its source at once, and its script adds the steps, statements and log of the request.
 */
import { escapeHtml } from '../../core/text.js'
import type { ErrorReport } from '../describe-error.js'
import { editorOf } from './inspect-request.js'
import { pageRoot } from './page-access.js'
import type { RecordedRequest } from './recorder.js'

/** @param page the HTML of the development page */
export function createFailurePage(page: string, request: RecordedRequest): string {
  const { number, method, url, handler, fault } = request
  if (fault === null) return page
  const title = `${fault.name}: ${fault.message}`
  const content = [
    `<h2>${escapeHtml(`${method} ${url}`)}</h2>`,
    handler === null ? '' : `<p>${escapeHtml(handler)}</p>`,
    `<h3 class="bad">${escapeHtml(title)}</h3>`,
    toSourceHtml(fault, editorOf(request)),
    `<details><summary>Stack</summary><pre tabindex="0">${escapeHtml(fault.stack)}</pre></details>`,
  ]
  return (
    page
      .replace('<html lang="en">', `<html lang="en" data-request="${number}">`)
      .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)}</title>`)
      // The address of the page is the one of the request, so links need the page's path.
      .replaceAll(/href="#(?!content)/g, `href="${pageRoot}#`)
      .replace(/<noscript>[^]*<\/noscript>/, () => `<section>${content.join('\n')}</section>`)
  )
}

/** @param editor the address that opens the file in an editor */
export function toSourceHtml({ file, line, source }: ErrorReport, editor: string | null): string {
  if (file === null) return ''
  const place = escapeHtml(`${file}:${line ?? 1}`)
  const link =
    editor === null ? place : `<a href="${escapeHtml(editor)}">Open ${place} in the editor</a>`
  const lines = source.map((one) => {
    const text = escapeHtml(`${String(one.line).padStart(5)}  ${one.text}\n`)
    return one.line === line ? `<mark>${text}</mark>` : text
  })
  return `<p>${link}</p>\n<pre tabindex="0">${lines.join('')}</pre>`
}
