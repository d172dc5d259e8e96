/** Modal dialogs. Focus stays inside and returns to its previous element. Escape closes the dialog. */
import { el, newId, put, type Child } from './element.js'
import { clearNotices } from './notices.js'
import { translate } from './translate.js'

export interface OpenDialog {
  readonly body: HTMLElement
  readonly close: () => void
}

/**
 * @param make creates the content of the dialog, which can close it
 * @param onClose called after every way of closing
 */
export function openDialog(
  title: string,
  make: (dialog: OpenDialog) => Child[],
  onClose: () => void = () => undefined,
): OpenDialog {
  const id = newId()
  const previousFocus = document.activeElement
  const body = el('div', { class: 'dialog-body' })
  const dialog = el(
    'dialog',
    { 'aria-labelledby': id },
    el('h2', { id, dir: 'auto' }, title),
    el('div', { class: 'notices' }),
    body,
  )
  const finish = (): void => {
    if (!dialog.isConnected) return
    dialog.remove()
    if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus()
    onClose()
  }
  const opened = {
    body,
    close: () => {
      dialog.close()
      // Do not wait for the asynchronous `close` event: a second dialog could open before it.
      finish()
    },
  }
  dialog.addEventListener('close', finish)
  put(body, ...make(opened))
  clearNotices()
  document.body.append(dialog)
  dialog.showModal()
  const first = body.querySelector<HTMLElement>(
    '[data-focused], input:not([type=hidden]), select, textarea',
  )
  ;(first ?? body.querySelector('button'))?.focus()
  return opened
}

export interface ConfirmOptions {
  readonly title: string
  readonly content: readonly Child[]
  /** The text of the button: `Delete`. */
  readonly confirmLabel: string
  readonly isDangerous?: boolean
}

/** Asks the user to confirm. @returns false for Cancel and Escape */
export function confirmInDialog({
  title,
  content,
  confirmLabel,
  isDangerous,
}: ConfirmOptions): Promise<boolean> {
  return new Promise((resolve) => {
    let isConfirmed = false
    openDialog(
      title,
      ({ close }) => [
        ...content,
        buttonRow(
          el(
            'button',
            {
              type: 'button',
              class: isDangerous === true ? 'grave' : 'main',
              onclick: () => {
                isConfirmed = true
                close()
              },
            },
            confirmLabel,
          ),
          cancelButton(close, isDangerous),
        ),
      ],
      () => {
        resolve(isConfirmed)
      },
    )
  })
}

export const buttonRow = (...children: Child[]): HTMLElement =>
  el('div', { class: 'buttons' }, ...children)

/** @param isFocused whether the dialog opens with the focus on this button */
export const cancelButton = (close: () => void, isFocused = false): HTMLElement =>
  el('button', { type: 'button', onclick: close, 'data-focused': isFocused }, translate('cancel'))
