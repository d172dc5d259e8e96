/** The admin page: who is there, and which view its address names. Source: specification, Admin page. */
import { api, ask, goByToken, keptToken, onSessionEnd, statusOf } from './requests.js'
import { showImport } from './csv-import.js'
import { el, refuse } from './element.js'
import { showFigures } from './chart.js'
import { showHistory } from './history.js'
import { mayLeave, followLinks, here, onRoute } from './navigation.js'
import { showList } from './list.js'
import { showNew } from './form.js'
import { showRow } from './row.js'
import { keepSchema, may, readSent, recordAt, schema, type SentSchema } from './schema.js'
import { endSignIn, showSignIn, signInAgain } from './sign-in.js'
import { forgetTitles } from './titles.js'
import { closeView, onSignOut, openView, showStart } from './view.js'

/** Shows what the address names. */
async function draw(): Promise<void> {
  if (schema() === undefined) return
  forgetTitles()
  const { parts, query } = here()
  const [path, second] = parts
  if (path === undefined) {
    showStart()
    return
  }
  const record = recordAt(path)
  if (record === undefined || parts.length > 2) {
    openView(undefined, 'Not found').show(
      el('p', {}, 'There is nothing at this address, or it is not for you.'),
    )
  } else if (second === undefined) await showList(record, query)
  else if (second === 'new' && may(record, 'c')) showNew(record)
  else if (second === 'import' && (may(record, 'c') || may(record, 'u'))) showImport(record)
  else if (second === 'figures') await showFigures(record, query)
  else if (second === 'history' && record.history === true) await showHistory(record, query)
  else await showRow(record, second)
}

const drawSafely = (): void => {
  draw().catch(refuse)
}

const readSchema = async (): Promise<void> => {
  const { data } = await ask<SentSchema>('GET', api('schema'), { open: true })
  keepSchema(readSent(data))
}

/**
 * Asks who is there.
 *
 * @param token of a sign-in just now: kept only where its cookie does not do
 */
async function begin(token: string | boolean = keptToken()): Promise<void> {
  const other = token === '' ? false : token
  try {
    goByToken(other === true)
    await readSchema().catch((error: unknown) => {
      if (statusOf(error) !== 401 || other === false) throw error
      goByToken(typeof other === 'string' ? other : false)
      return readSchema()
    })
  } catch (error) {
    const status = statusOf(error)
    if (status !== 401 && status !== 403) throw error
    const words =
      status === 403
        ? 'You are signed in, but this page is not for you. Sign in as somebody else.'
        : ''
    await showSignIn(begin, words)
    return
  }
  document.body.replaceChildren()
  drawSafely()
}

async function leave(): Promise<void> {
  if (!(await mayLeave())) return
  await endSignIn()
  closeView()
  keepSchema(undefined)
  forgetTitles()
  document.body.replaceChildren()
  await showSignIn(begin, 'You have signed out.')
}

onRoute(drawSafely)
onSessionEnd(signInAgain)
onSignOut(leave)
followLinks()
// Pages that the browser kept may show what somebody else may not see.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload()
})
begin().catch((error: unknown) => {
  document.body.replaceChildren(el('main', { class: 'notices' }))
  refuse(error)
})
