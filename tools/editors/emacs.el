;;; What Emacs shows of a program, with Eglot and `remc lsp', as the book sets it up.  -*- lexical-binding: t -*-

;; Writes a line for each thing that works and ends with exit code 0, or says what did not and ends with 1.

(require 'eglot)
(require 'flymake)

(defvar failed nil)
(defun check (what ok found)
  (message "%s %s%s" (if ok "ok  " "FAIL") what (if ok "" (format ": %S" found)))
  (unless ok (setq failed t)))
(defun eventually (what f)
  (let ((end (+ (float-time) 20)) found)
    (while (and (not (setq found (funcall f))) (< (float-time) end))
      (accept-process-output nil 0.02))
    (check what found found)))
(defun write-line (line text)
  (goto-char (point-min))
  (forward-line (1- line))
  (delete-region (line-beginning-position) (line-end-position))
  (insert text)
  ;; What idle time would do.
  (eglot--signal-textDocument/didChange))
(defun at (line column)
  (goto-char (point-min))
  (forward-line (1- line))
  (forward-char column))
(defun request (method params) (jsonrpc-request (eglot-current-server) method params))
(defun messages () (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defvar shown "")
(advice-add 'eglot-handle-notification :before
            (lambda (_server method &rest params)
              (when (eq method 'window/showMessage)
                (setq shown (concat shown (plist-get params :message))))))

(setq debug-on-error nil)
(condition-case problem
    (progn
      (find-file (car command-line-args-left))
      (setq command-line-args-left nil)
      (check "the file is Remora" (eq major-mode 'remora-mode) major-mode)
      (eventually "the server is attached"
                  (lambda ()
                    ;; In batch mode the hook that would start it waits for a window.
                    (unless (eglot-current-server) (run-hooks 'post-command-hook))
                    (eglot-managed-p)))

      (write-line 4 "(+ [1 2] [1 2 3])")
      (flymake-start)
      (eventually "a mistake is shown"
                  (lambda () (seq-find (lambda (m) (string-match-p "frame" m)) (messages))))
      (write-line 4 "(average [1 2 3 6])")
      (flymake-start)
      (eventually "and gone when it is mended" (lambda () (null (messages))))

      (at 4 3)
      (let ((hover (request :textDocument/hover (eglot--TextDocumentPositionParams))))
        (check "hover shows the documentation" (string-match-p "The mean of a vector" (format "%S" hover)) hover))
      (let ((definitions (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
        (check "the definition is in line 2"
               (and definitions (= 2 (xref-location-line (xref-item-location (car definitions)))))
               definitions))
      (let ((value (request :workspace/executeCommand
                            `(:command "remc.run" :arguments [,(eglot--path-to-uri buffer-file-name)]))))
        (check "the value is 3.0" (equal (plist-get value :text) "3.0") value))
      (remora-run)
      (eventually "and is shown" (lambda () (string-match-p "3\\.0" shown)))

      (write-line 2 "(define   (average [xs 1])   (/ (sum xs) (length xs)))")
      (eglot-format-buffer)
      (at 2 0)
      (let ((line (buffer-substring (line-beginning-position) (line-end-position))))
        (check "formatting closes the gaps" (equal line "(define (average [xs 1]) (/ (sum xs) (length xs)))") line)))
  (error (check "nothing else happens" nil problem)))

;; What needs no server: indentation and colours.
(with-temp-buffer
  (let ((remora-mode-hook nil)) (remora-mode))
  (insert "(define (f [x 1])\n(let ((y 1)\n(z 2))\n(+ x\ny)))\n#| a #| b |# (c |# g{int | 3}\n")
  (indent-region (point-min) (point-max))
  (check "it is indented as Lisp is"
         (string-prefix-p "(define (f [x 1])\n  (let ((y 1)\n        (z 2))\n    (+ x\n       y)))" (buffer-string))
         (buffer-string))
  (font-lock-ensure)
  (goto-char 2)
  (check "keywords have their colour" (eq (get-text-property (point) 'face) 'font-lock-keyword-face) (text-properties-at (point)))
  (check "comments nest"
         (progn (search-forward "c |") (nth 4 (syntax-ppss)))
         (syntax-ppss))
  (check "a bar is no bracket" (progn (goto-char (point-max)) (zerop (car (syntax-ppss)))) (syntax-ppss)))

(kill-emacs (if failed 1 0))
