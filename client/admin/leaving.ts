/** Forms that hold what is stored nowhere: whoever leaves them is asked. */
import { confirm } from './dialog.js'
import { el } from './element.js'
import { refuse } from './notice.js'

const watched = new WeakMap<HTMLFormElement, () => boolean>()

/** Watches a form for as long as it is on the page. */
export const watch = (form: HTMLFormElement, isChanged: () => boolean): void => {
  watched.set(form, isChanged)
}

const isChanged = (form: HTMLFormElement): boolean => watched.get(form)?.() === true

export const isAnyChanged = (): boolean => [...document.forms].some(isChanged)

let asked: Promise<boolean> | undefined

/** Asks whether what was typed may be given up, where there is any. */
export function mayLeave(): Promise<boolean> {
  if (!isAnyChanged()) return Promise.resolve(true)
  asked ??= confirm({
    title: 'Leave without saving?',
    words: [el('p', {}, 'What you changed in this form is not saved yet.')],
    yes: 'Leave',
    isGrave: true,
  }).finally(() => {
    asked = undefined
  })
  return asked
}

// Escape closes a dialog, with the form that may be in it.
document.addEventListener(
  'cancel',
  (event) => {
    const dialog = event.target
    if (
      !(dialog instanceof HTMLDialogElement) ||
      ![...dialog.querySelectorAll('form')].some(isChanged)
    )
      return
    event.preventDefault()
    mayLeave()
      .then((isSure) => {
        if (isSure) dialog.close()
      })
      .catch(refuse)
  },
  { capture: true },
)

// Closing the window and loading the page anew are asked about by the browser itself.
addEventListener('beforeunload', (event) => {
  if (isAnyChanged()) event.preventDefault()
})
